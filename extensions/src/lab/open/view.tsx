/** What the panel that opens a model shows. */
import type { ComponentChildren } from 'preact';
import { trans } from '../words';

/** An input of the model; `dims` has sizes, names of open dimensions, and null for what is not known. */
export interface Input {
  readonly name: string;
  readonly dtype: string;
  readonly dims: readonly (number | string | null)[] | null;
  /** Why its open sizes are proposed to be what they are. */
  readonly guess: string;
  readonly shape: readonly number[];
}

export interface Description {
  readonly inputs: readonly Input[];
  readonly threads: number;
  readonly empty: boolean;
}

export interface OpenState {
  /** Path of the model; empty before one is chosen. */
  readonly path: string;
  /** What is going on; empty when something can be done. */
  readonly busy: string;
  readonly error: { readonly message: string; readonly hint: string } | null;
  readonly model: Description | null;
  /** What stands in the fields of each input. */
  readonly shapes: Readonly<Record<string, readonly string[]>>;
  readonly threads: string;
  readonly fill: boolean;
}

interface Props {
  state: OpenState;
  /** Whether the file is not to be chosen: it is on show already. */
  given: boolean;
  onChoose: () => void;
  onChange: (change: Partial<OpenState>) => void;
  onStart: () => void;
}

const isOpen = (dim: number | string | null): boolean => typeof dim !== 'number';

/** A line of the form: its name, and what is to be filled in. */
const Line = ({ name, children }: { name: ComponentChildren; children: ComponentChildren }) => (
  <div class="swbl-line">
    <span class="swbl-quiet">{name}</span>
    <span>{children}</span>
  </div>
);

function Shape({
  input,
  values,
  onChange
}: {
  input: Input;
  values: readonly string[];
  onChange: (values: readonly string[]) => void;
}) {
  const { name, dims } = input;
  if (!dims) {
    return (
      <input
        aria-label={trans.__('Shape of %1', name)}
        placeholder="1x3x224x224"
        value={values[0] ?? ''}
        onInput={event => onChange([event.currentTarget.value])}
      />
    );
  }
  if (dims.length === 0) return <>{trans.__('one number')}</>;
  return (
    <>
      {dims.map((dim, i) => (
        <>
          {i > 0 && ' × '}
          {!isOpen(dim) ? (
            dim
          ) : (
            <label class="swbl-whole">
              <input
                type="number"
                min={1}
                step={1}
                required
                aria-label={
                  dim ? trans.__('%1, dimension %2, %3', name, i, dim) : trans.__('%1, dimension %2', name, i)
                }
                value={values[i]}
                onInput={event => {
                  const { value } = event.currentTarget;
                  onChange(values.map((old, j) => (i === j ? value : old)));
                }}
              />
              {dim && <small class="swbl-quiet"> {dim}</small>}
            </label>
          )}
        </>
      ))}
    </>
  );
}

function Form({ state, model, onChange, onStart }: Omit<Props, 'onChoose' | 'given'> & { model: Description }) {
  const open = model.inputs.some(input => !input.dims || input.dims.some(isOpen));
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault();
        if (!state.busy) onStart();
      }}
    >
      <p class="swbl-quiet">
        {open
          ? trans.__('The model leaves some sizes open. Kernels are made for the shapes that stand here.')
          : trans.__('The model says all its shapes.')}
      </p>
      {model.inputs.map(input => (
        <Line
          key={input.name}
          name={
            <>
              <b>{input.name}</b> {input.dtype}
            </>
          }
        >
          <Shape
            input={input}
            values={state.shapes[input.name] ?? []}
            onChange={values => onChange({ shapes: { ...state.shapes, [input.name]: values } })}
          />
          {(!input.dims || input.dims.some(isOpen)) && (
            <small class="swbl-quiet swbl-guess">
              {' '}
              {trans.__('not in the file, guessed: %1', input.guess || trans.__('put in what it was made for'))}
            </small>
          )}
        </Line>
      ))}
      <Line name={trans.__('Threads')}>
        <input
          type="number"
          min={1}
          step={1}
          aria-label={trans.__('Threads')}
          value={state.threads}
          onInput={event => onChange({ threads: event.currentTarget.value })}
        />{' '}
        <small class="swbl-quiet">{trans.__('of %1', model.threads)}</small>
      </Line>
      {(model.empty || state.fill) && (
        <Line name={trans.__('Weights')}>
          <label>
            <input
              type="checkbox"
              checked={state.fill}
              onChange={event => onChange({ fill: event.currentTarget.checked })}
            />{' '}
            {trans.__('Fill in random ones: the file has none')}
          </label>
        </Line>
      )}
      <button type="submit" class="jp-mod-styled jp-mod-accept" aria-disabled={state.busy ? 'true' : undefined}>
        {trans.__('Start')}
      </button>
      <p class="swbl-quiet">{trans.__('Makes a notebook beside the model and runs it.')}</p>
    </form>
  );
}

/** What is going on, or what went wrong. */
export function Said({ busy, error }: Pick<OpenState, 'busy' | 'error'>) {
  return (
    <>
      {busy && (
        <p class="swbl-note" role="status">
          {busy}
        </p>
      )}
      {error && (
        <p class="swbl-note swbl-error" role="alert">
          <b>{error.message}</b> {error.hint}
        </p>
      )}
    </>
  );
}

export function OpenView({ state, given, onChoose, ...rest }: Props) {
  const { path, busy, error, model } = state;
  return (
    <div class="swbl swbl-open">
      <h1>{given ? trans.__('Tune this model') : trans.__('Open a model in the Schedule Workbench')}</h1>
      {!given && (
        <Line name={trans.__('File')}>
          {path ? <b>{path}</b> : trans.__('an ONNX model, or a tuning log')}{' '}
          <button type="button" class="jp-mod-styled jp-mod-reject" disabled={busy !== ''} onClick={onChoose}>
            {path ? trans.__('Another one…') : trans.__('Choose…')}
          </button>
        </Line>
      )}
      {model && <Form state={state} model={model} {...rest} />}
      <Said busy={busy} error={error} />
    </div>
  );
}
