// What elements are made with; the build puts these names, which nothing else has, into every module that makes any.

export { Fragment as NodeGroup, h as createNode } from 'preact';
