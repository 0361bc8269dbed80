// The frame of a cache view: controls, and a column for each film.

import { useRef } from 'preact/hooks';
import { count } from '../shared/format';
import { Curve } from './curve';
import { useSize } from '../explorer/canvas';
import { Grid, sideOf } from './grid';
import type { FilmInfo, Picture, Pictures } from './pictures';
import { SPEEDS, type CacheStore } from './store';

const WORDS: Readonly<Record<number, string>> = { [SPEEDS[0]]: 'slow', [SPEEDS[1]]: 'medium', [SPEEDS[2]]: 'fast' };

function Controls({ store }: { store: CacheStore }) {
  const { playing, frame, last, single, waiting, speed } = store;
  return (
    <div class="swc-controls">
      <button class="swb-button is-primary swc-play" data-swc="play" onClick={() => store.toggle()}>
        {playing.value ? 'Stop' : 'Play'}
      </button>
      <input
        type="range"
        data-swc="place"
        aria-label="Place in the run"
        aria-valuetext={`picture ${frame.value + 1} of ${last.value + 1}`}
        min={0}
        max={last.value}
        value={frame.value}
        onInput={event => {
          store.stop();
          store.go(Number(event.currentTarget.value));
        }}
      />
      <span class="swb-switch" role="group" aria-label="What is played">
        <button aria-pressed={!single.value} onClick={() => single.value && store.zoom()}>
          Whole run
        </button>
        <button
          data-swc="single"
          aria-pressed={!!single.value}
          aria-disabled={waiting.value}
          title="One access after the other, from where the run stands (z)"
          onClick={() => single.value || store.zoom()}
        >
          {waiting.value ? 'Waiting…' : 'Single accesses'}
        </button>
      </span>
      <select
        aria-label="Speed"
        value={String(speed.value)}
        onChange={event => (speed.value = Number(event.currentTarget.value))}
      >
        {SPEEDS.map(one => (
          <option value={String(one)}>{WORDS[one]}</option>
        ))}
      </select>
    </div>
  );
}

function Legend({ film, every }: { film: FilmInfo; every: number }) {
  const names = film.levels.map(level => level.name);
  const cell = film.arrays.some(a => a.tall > 1 || a.wide > 1) ? 'a cell is several lines' : 'a cell is one line';
  return (
    <p class="swc-legend">
      <span>
        <i class="swc-key is-near" /> in {names[0]}
      </span>
      {names.length > 1 && (
        <span>
          <i class="swc-key is-far" /> in {names[1]} only
        </span>
      )}
      <span>
        <i class="swc-key" /> in memory only
      </span>
      <span>
        <i class="swc-key is-hit" /> hit in {names[0]}
      </span>
      <span>
        <i class="swc-key is-miss" /> miss
      </span>
      <span class="swb-faint">
        {cell} of {film.line} bytes{every > 1 && `, a picture is taken every ${count(every)} accesses`}
      </span>
    </p>
  );
}

/** What happens next, in words. */
function said(film: FilmInfo, picture: Picture): string {
  const access = film.accesses[picture.access];
  if (!access) return film.part < 1 ? 'the end of what is run' : 'the end of the run';
  const { levels } = film;
  const first = levels[0]!.name;
  const from = levels[picture.found]?.name ?? 'memory';
  return `${access.kind} ${access.text}: ${picture.found ? `miss in ${first}, the line comes from ${from}` : `hit in ${first}`}`;
}

const rate = (part: number, whole: number): string => (whole ? `${((100 * part) / whole).toFixed(1)} %` : '–');

function Film({ store, pictures }: { store: CacheStore; pictures: Pictures }) {
  const film = pictures.info;
  const [box, { width }] = useSize<HTMLDivElement>();
  const picture = pictures.at(store.frameOf(pictures));
  let from = 0;
  const grids = film.arrays.map((array, k) => {
    const before = from;
    from += array.rows * array.columns;
    const { length } = film.levels;
    return (
      <Grid
        key={array.name}
        array={array}
        number={k}
        from={before}
        levels={length}
        picture={picture}
        side={sideOf(width, film.arrays.length)}
        theme={store.theme.value}
      />
    );
  });
  return (
    <section class="swc-film" aria-label={film.name}>
      <h3 class="swb-h3">
        {film.name} <span class="swb-faint">{film.levels.map(level => level.text).join(' · ')}</span>
      </h3>
      {film.part < 1 && (
        <p class="swb-faint">The first {(100 * film.part).toPrecision(2)} % of the accesses are run.</p>
      )}
      <p class="swc-loops">
        {(film.accesses[picture.access]?.loops ?? []).map(k => (
          <span key={k}>
            {film.loops[k]!.name} = <b>{picture.loops[k]}</b>
          </span>
        ))}
      </p>
      <p class="swc-said" data-swc="said">
        {said(film, picture)}
      </p>
      <div class="swc-arrays" ref={box}>
        {width > 0 && grids}
      </div>
      <dl class="swc-counts">
        <dt>accesses</dt>
        <dd>
          {count(picture.time)} of {count(film.total)}
        </dd>
        {film.levels.map((level, k) => (
          <>
            <dt>misses of {level.name}</dt>
            <dd>
              <b data-swc={`misses-${k}`}>{count(picture.misses[k])}</b>{' '}
              <span class="swb-faint">
                {rate(picture.misses[k]!, k ? picture.misses[k - 1]! : picture.time)} of what reached it
              </span>
            </dd>
          </>
        ))}
        <dt>{film.levels[0]!.name} by array</dt>
        <dd>{film.arrays.map((a, k) => `${a.name} ${count(picture.byArray[k])}`).join(' · ')}</dd>
      </dl>
    </section>
  );
}

/** What the runs miss in all. */
function compared(films: readonly Pictures[]): string {
  const all = films.map(film => film.misses(film.count - 1));
  const each = films.map((film, k) => `${film.info.name} ${count(all[k])}`).join(', ');
  const [before, after] = all;
  const part = films.some(film => film.info.part < 1) ? 'in the part that is run' : 'in all';
  if (!before || !after) return `${part}: ${each}`;
  const more = films[before > after ? 0 : 1]!.info.name;
  const times = Math.max(before, after) / Math.min(before, after);
  return `${part}: ${each}; ${times < 1.05 ? 'about as many' : `${more} has ${times.toFixed(1)} times as many`}`;
}

const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 };

/** With `inside`, in a workbench, which has a frame of its own. */
export function Frame({ store, inside }: { store: CacheStore; inside?: boolean }) {
  const root = useRef<HTMLDivElement>(null);
  const keys = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const on = event.target as Element;
    if (on.matches('select') || (event.key === ' ' && on.matches('button'))) return;
    const step = STEPS[event.key];
    if (event.key === ' ') store.toggle();
    else if (event.key === 'z' || (event.key === 'Escape' && store.single.value)) store.zoom();
    else if (event.key === 'Home' || event.key === 'End') {
      store.stop();
      store.go(event.key === 'Home' ? 0 : store.last.value);
    } else if (step) {
      store.stop();
      store.go(store.frame.value + step);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const shown = store.shown.value;
  const at = shown.map(p => p.time(store.frameOf(p)));
  const first = shown[0];
  return (
    <div
      ref={root}
      class={inside ? 'swc' : 'swb swc'}
      data-swb-theme={inside ? undefined : store.theme.value}
      role="region"
      aria-label="Cache view"
      tabIndex={0}
      data-lm-suppress-shortcuts="true"
      onKeyDown={keys}
    >
      {store.problem.value && (
        <p class="swb-note is-error" role="alert">
          {store.problem.value}
        </p>
      )}
      {first && (
        <>
          <Controls store={store} />
          <Legend film={first.info} every={Math.round(first.time(1) - first.time(0))} />
          <div class="swc-films">
            {shown.map((pictures, k) => (
              <Film key={k} store={store} pictures={pictures} />
            ))}
          </div>
          <h3 class="swb-h3 swc-head">
            Misses of {first.info.levels[0]!.name} <span class="swb-faint">{compared(store.whole.value)}</span>
          </h3>
          <Curve films={store.whole.value} at={at} theme={store.theme.value} />
          <p class="swb-aside" role="status">
            {!store.playing.value && shown.map(p => said(p.info, p.at(store.frameOf(p)))).join('; ')}
          </p>
          <p class="swc-foot">
            <span>
              <kbd class="swb-key">Space</kbd> plays
            </span>
            <span>
              <kbd class="swb-key">←</kbd> <kbd class="swb-key">→</kbd> step
            </span>
            <span>
              <kbd class="swb-key">z</kbd> single accesses
            </span>
          </p>
        </>
      )}
    </div>
  );
}
