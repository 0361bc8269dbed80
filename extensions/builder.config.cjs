// Module ids that do not depend on the checkout's path, so that committed assets can be compared.
module.exports = { optimization: { moduleIds: 'natural' } };
