// Bundles the widget: two modules that the Python package sends to the browser. No path of the machine gets in, so the
// same sources give the same bytes anywhere. `--outdir=DIR` writes elsewhere, `--outfile=FILE` only the large one.
import { build, transform } from 'esbuild';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const option = name => process.argv.find(a => a.startsWith(`--${name}=`))?.slice(name.length + 3);
const { version } = JSON.parse(await readFile(join(here, 'package.json'), 'utf8'));
const outdir = option('outdir') ?? join(here, '../workbench/widgets/static');
const outfile = option('outfile');

/** Style sheets are carried inside the module as minified text. */
const styles = {
  name: 'styles',
  setup(b) {
    b.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, 'utf8'), { loader: 'css', minify: true, target: 'es2022' });
      return { contents: code.trim(), loader: 'text' };
    });
  }
};

const bundle = (entry, out) => build({
  absWorkingDir: here,
  entryPoints: [entry],
  outfile: out,
  bundle: true,
  format: 'esm',
  minify: true,
  legalComments: 'none',
  charset: 'utf8',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  define: { __VERSION__: JSON.stringify(version) },
  plugins: [styles],
  logLevel: 'info'
});

await bundle('src/widget/index.tsx', outfile ?? join(outdir, 'workbench.js'));
if (!outfile) await bundle('src/widget/place.ts', join(outdir, 'panel.js'));
