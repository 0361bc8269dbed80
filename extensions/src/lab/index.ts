import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

const plugin: JupyterFrontEndPlugin<void> = { id: 'schedule-workbench:plugin', autoStart: true, activate: () => undefined };
export default plugin;
