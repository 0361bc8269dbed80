// Bundles the widgets: modules and style sheets that the Python package sends to the browser. No path of the machine
// gets in, so the same sources give the same bytes anywhere. `--outdir=DIR` writes elsewhere, `--outfile=FILE` only the
// workbench's module, and its styles beside it. The large modules unpack themselves: every workbench sends its own over
// the kernel's connection and into notebooks that are saved with their widgets, and packed it is half as long. fflate
// packs the same with every version of Node.
import { build } from 'esbuild';
import { gzipSync } from 'fflate';
import { Buffer } from 'node:buffer';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const option = name => process.argv.find(a => a.startsWith(`--${name}=`))?.slice(name.length + 3);
const { version } = JSON.parse(await readFile(join(here, 'package.json'), 'utf8'));
const outdir = option('outdir') ?? join(here, '../workbench/widgets/static');
const outfile = option('outfile');

/** The module `@panels`: the default exports of the files in `src/widget/panels`, each of which declares a panel. */
const panels = {
  name: 'panels',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@panels$/ }, () => ({ path: 'panels', namespace: 'panels' }));
    onLoad({ filter: /^panels$/, namespace: 'panels' }, async () => {
      const files = (await readdir(join(here, 'src/widget/panels'))).sort();
      const imports = files.map((file, i) => `import panel${i} from './panels/${file}';`);
      const names = files.map((_, i) => `panel${i}`);
      const contents = [...imports, `export const PANELS = [${names.join()}];`].join('\n');
      return { contents, resolveDir: join(here, 'src/widget') };
    });
  }
};

/** The module `@glossary`: the meanings in `docs/glossary.md` of the words that a `<Term of="…">` explains. */
const glossary = {
  name: 'glossary',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@glossary$/ }, () => ({ path: 'glossary', namespace: 'glossary' }));
    onLoad({ filter: /^glossary$/, namespace: 'glossary' }, async () => {
      const page = await readFile(join(here, '../docs/glossary.md'), 'utf8');
      const known = new Map([...page.matchAll(/^\| \[?([^|\]]+)[^|]* \| ([^|]+?) \|/gm)].map(row => [row[1], row[2]]));
      const files = (await readdir(join(here, 'src/widget'), { recursive: true })).filter(file =>
        file.endsWith('.tsx')
      );
      const texts = await Promise.all(files.map(file => readFile(join(here, 'src/widget', file), 'utf8')));
      const words = new Set(texts.flatMap(text => [...text.matchAll(/<Term of="([^"]+)"/g)].map(found => found[1])));
      const errors = [...words].filter(word => !known.has(word)).map(word => ({ text: `no ${word} in the glossary` }));
      const meanings = [...words].sort().map(word => [word, known.get(word)]);
      return { contents: `export const MEANINGS = ${JSON.stringify(Object.fromEntries(meanings))};`, errors };
    });
  }
};

const bundle = (entry, out) =>
  build({
    absWorkingDir: here,
    entryPoints: [entry],
    outfile: out,
    bundle: true,
    format: 'esm',
    minify: true,
    legalComments: 'none',
    charset: 'utf8',
    target: 'es2022',
    // Children as arguments take fewer letters than as a property, which is how the compiler of the types has them.
    tsconfigRaw: {
      compilerOptions: {
        jsx: 'react',
        jsxFactory: 'createNode',
        jsxFragmentFactory: 'NodeGroup',
        useDefineForClassFields: true
      }
    },
    inject: ['src/widget/jsx.ts'],
    plugins: [panels, glossary],
    define: { __VERSION__: JSON.stringify(version) },
    logLevel: 'info'
  });

/** A module that unpacks another one and passes its default export on. */
function packed(code, name) {
  const named = Buffer.concat([code, Buffer.from(`//# sourceURL=${name}\n`)]);
  const text = Buffer.from(gzipSync(named, { level: 9, mtime: 0 })).toString('base64');
  return `const bytes = Uint8Array.from(atob("${text}"), c => c.charCodeAt(0));
const unpacked = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
const url = URL.createObjectURL(new Blob([await unpacked.text()], { type: "text/javascript" }));
const { default: widget } = await import(url);
URL.revokeObjectURL(url);
export default widget;
`;
}

/** A large module and its style sheet. */
async function withStyles(entry, styles, out, name) {
  await bundle(entry, out);
  await writeFile(out, packed(await readFile(out), name));
  await bundle(styles, out.replace(/\.js$/, '.css'));
}

await withStyles('src/widget/index.tsx', 'style/widget.css', outfile ?? join(outdir, 'workbench.js'), 'workbench.js');
if (!outfile) {
  await withStyles('src/explorer/index.tsx', 'style/explorer-widget.css', join(outdir, 'explorer.js'), 'explorer.js');
  await withStyles('src/cache/index.tsx', 'style/cache-widget.css', join(outdir, 'cache.js'), 'cache.js');
  await bundle('src/widget/panel-entry.ts', join(outdir, 'panel.js'));
}
