// Bundles the widget into the one module that the Python package sends to the browser. No path of the machine gets in.
import { build } from 'esbuild';

await build({
  entryPoints: ['src/widget/index.tsx'],
  outfile: '../workbench/widgets/static/workbench.js',
  bundle: true,
  format: 'esm',
  minify: true,
  legalComments: 'none',
  charset: 'utf8',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  loader: { '.css': 'text' },
  logLevel: 'info'
});
