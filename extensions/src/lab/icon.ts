import { LabIcon } from '@jupyterlab/ui-components';

/** Loop nest on the left, falling curve on the right; `jp-icon3` follows the theme. */
const svgstr =
  '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">' +
  '<path class="jp-icon3" fill="#616161" d="M2 4h9v2.4H2zM5 8.8h8v2.4H5zM8 13.6h5V16H8z"/>' +
  '<path class="jp-icon-selectable" fill="none" stroke="#2457c5" stroke-width="2.4" ' +
  'd="M14.5 4v6.5H18v5h4.5V20.5"/><circle fill="#2457c5" cx="21.6" cy="20.6" r="1.9"/></svg>';

export const workbenchIcon = new LabIcon({ name: 'schedule-workbench:icon', svgstr });

/** The same picture for the launcher, which wants an address for tiles among the notebooks. */
export const workbenchIconUrl = `data:image/svg+xml,${encodeURIComponent(svgstr.replaceAll('#2457c5', '#4a7be0').replaceAll('#616161', '#808080'))}`;
