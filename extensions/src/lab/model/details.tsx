/** What is beside the drawing of a model: the node that was chosen, or the model itself. */
import type { ComponentChildren } from 'preact';
import { bytes, count, percent } from '../../shared/format';
import { trans } from '../words';
import type { Contents, FileNode, Rows, Statistics } from './reading';

/** Weights and operators in the lists of the whole model. */
const MOST = 12;

const digits = (value: number | undefined): string => (value == null ? '–' : Number(value.toPrecision(4)).toString());

function Histogram({ of: { bars = [], min, max } }: { of: Statistics }) {
  const most = Math.max(1, ...bars);
  return (
    <svg
      class="swbl-bars"
      viewBox={`0 0 ${bars.length} 20`}
      preserveAspectRatio="none"
      role="img"
      aria-label={trans.__('Histogram from %1 to %2', digits(min), digits(max))}
    >
      <path d={bars.map((n, i) => `M${i} 20v${(-20 * n) / most}h.86v${(20 * n) / most}z`).join('')} />
    </svg>
  );
}

function Numbers({ of }: { of: Statistics | undefined }) {
  if (!of) return <small class="swbl-quiet">{trans.__('reading…')}</small>;
  if (of.why) return <small class="swbl-bad">{of.why}</small>;
  if (of.values != null) return <code>{of.values}</code>;
  if (!of.bars) return <small class="swbl-bad">{trans.__('no element is finite')}</small>;
  return (
    <>
      <Histogram of={of} />
      <small>
        {trans.__('%1 … %2, mean %3, std %4', ...[of.min, of.max, of.mean, of.std].map(digits))}
        {!!of.zeros && trans.__(', %1 zeros', percent(of.zeros))}
        {!!of.odd && <span class="swbl-bad">{trans.__(', %1 not finite', count(of.odd))}</span>}
      </small>
    </>
  );
}

interface TensorProps {
  readonly name: string;
  readonly contents: Contents;
  readonly rows: Rows;
}

/** A tensor that a node reads or makes. */
function Tensor({ name, contents, rows }: TensorProps) {
  const size = contents.weights[name];
  return (
    <li>
      <b>{name}</b> <span class="swbl-quiet">{contents.types[name] ?? trans.__('type not known')}</span>
      {size != null && (
        <div>
          <small class="swbl-quiet">{trans.__('weight, %1', bytes(size))}</small> <Numbers of={rows[name]} />
        </div>
      )}
    </li>
  );
}

const Part = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section>
    <h3>{title}</h3>
    {children}
  </section>
);

const Facts = ({ of }: { of: Readonly<Record<string, string>> }) => (
  <dl>
    {Object.entries(of).map(([key, value]) => (
      <div key={key}>
        <dt>{key}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

export function NodeDetails({ name, node, ...all }: { name: string; node: FileNode } & Omit<TensorProps, 'name'>) {
  const list = (names: readonly string[]) => (
    <ul>
      {names.map((one, i) => (one ? <Tensor key={i} name={one} {...all} /> : <li key={i}>{trans.__('not given')}</li>))}
    </ul>
  );
  return (
    <>
      <h2>{node.op}</h2>
      <p class="swbl-quiet">{name}</p>
      {Object.keys(node.attributes).length > 0 && (
        <Part title={trans.__('Attributes')}>
          <Facts of={node.attributes} />
        </Part>
      )}
      <Part title={trans.__('Inputs')}>{list(node.inputs)}</Part>
      <Part title={trans.__('Outputs')}>{list(node.outputs.filter(Boolean))}</Part>
    </>
  );
}

export function ModelDetails({ contents, rows }: Omit<TensorProps, 'name'>) {
  const ops = new Map<string, number>();
  for (const { op } of Object.values(contents.nodes)) ops.set(op, (ops.get(op) ?? 0) + 1);
  const kinds = [...ops].sort((a, b) => b[1] - a[1]);
  const weights = Object.entries(contents.weights).sort((a, b) => b[1] - a[1]);
  const all = { contents, rows };
  return (
    <>
      <h2>{trans.__('Model')}</h2>
      <Facts of={contents.about} />
      <Part title={trans.__('Inputs')}>
        <ul>
          {contents.inputs.map(name => (
            <Tensor key={name} name={name} {...all} />
          ))}
        </ul>
      </Part>
      <Part title={trans.__('Outputs')}>
        <ul>
          {contents.outputs.map(name => (
            <Tensor key={name} name={name} {...all} />
          ))}
        </ul>
      </Part>
      <Part title={trans.__('Operators')}>
        <p>
          {kinds
            .slice(0, MOST)
            .map(([op, n]) => `${count(n)} ${op}`)
            .join(', ')}
          {kinds.length > MOST && trans._n(', %1 other kind', ', %1 other kinds', kinds.length - MOST)}
        </p>
      </Part>
      {weights.length > 0 && (
        <Part title={weights.length > MOST ? trans.__('The %1 largest weights', MOST) : trans.__('Weights')}>
          <ul>
            {weights.slice(0, MOST).map(([name]) => (
              <Tensor key={name} name={name} {...all} />
            ))}
          </ul>
        </Part>
      )}
    </>
  );
}
