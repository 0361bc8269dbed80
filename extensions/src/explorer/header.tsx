// What the log is, what of it is chosen, and how to choose: task, outcome, filter, ranges.

import { useEffect, useRef, useState } from 'preact/hooks';
import { count, percent, plural } from '../shared/format';
import { Button, Key } from '../widget/elements/controls';
import type { Chosen, Meta } from './protocol';
import type { View } from './view';

function Task({ view, meta, chosen }: { view: View; meta: Meta; chosen: Chosen }) {
  if (meta.tasks.length < 2) return null;
  return (
    <label class="swx-pick">
      <span>Task</span>
      <select
        value={chosen.task}
        onChange={event => {
          void view.open(null);
          view.store.set({ task: event.currentTarget.value });
        }}
      >
        <option value="">All {plural(meta.tasks.length + meta.more_tasks, 'task')}</option>
        {meta.tasks.map(([key, label, n]) => (
          <option key={key} value={key}>
            {label} ({count(n)})
          </option>
        ))}
      </select>
    </label>
  );
}

function Statuses({ view, chosen }: { view: View; chosen: Chosen }) {
  const all = chosen.statuses.map(([key]) => key);
  const some = chosen.statuses.some(one => !one[4]);
  if (!all.length) return null;
  const flip = (key: string): void => {
    const on = chosen.statuses.filter(one => one[4]).map(([one]) => one);
    const next = !some ? [key] : on.includes(key) ? on.filter(one => one !== key) : [...on, key];
    view.store.set({ statuses: next.length === all.length ? [] : next });
  };
  return (
    <div class="swx-chips" role="group" aria-label="What became of them">
      {chosen.statuses.map(([key, words, n, here, on]) => (
        <button
          key={key}
          type="button"
          class={`swx-chip${key === 'ok' ? '' : ' is-bad'}`}
          aria-pressed={some && on}
          title={`${words}: ${count(here)} chosen of ${count(n)}`}
          data-swx-status={key}
          onClick={() => flip(key)}
        >
          <b>{key}</b> {here === n ? count(n) : `${count(here)} of ${count(n)}`}
        </button>
      ))}
    </div>
  );
}

const WAIT = 250;

function Filter({ view, chosen, meta }: { view: View; chosen: Chosen; meta: Meta }) {
  const [text, setText] = useState(chosen.text);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const own = useRef(chosen.text);
  useEffect(() => {
    if (chosen.text !== own.current) setText((own.current = chosen.text));
  }, [chosen.text]);
  const send = (next: string): void => {
    own.current = next;
    view.store.set({ text: next });
  };
  const found = meta.columns.find(one => one.group === 'parameter' && one.varies)?.name ?? 'record';
  const first = /^\w+$/.test(found) ? found : `\`${found}\``;
  return (
    <div class="swx-filter">
      <input
        type="text"
        value={text}
        data-swx="filter"
        spellcheck={false}
        aria-label="Filter"
        aria-invalid={chosen.error !== null}
        placeholder={`Filter, such as: status == "ok" and ${first} != 1`}
        onInput={event => {
          const next = event.currentTarget.value;
          setText(next);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => send(next), WAIT);
        }}
        onKeyDown={event => {
          if (event.key === 'Enter') {
            clearTimeout(timer.current);
            send(text);
            event.preventDefault();
          }
          event.stopPropagation();
        }}
      />
      {chosen.error && (
        <span class="swb-careful" role="status">
          {chosen.error.message}. {chosen.error.hint}
        </span>
      )}
    </div>
  );
}

function Ranges({ view, chosen }: { view: View; chosen: Chosen }) {
  if (!chosen.brushes.length) return null;
  return (
    <div class="swx-chips" role="group" aria-label="Ranges">
      {chosen.brushes.map(one => (
        <button
          key={one.column}
          type="button"
          class="swx-chip is-range"
          title="Take this range away"
          onClick={() => view.store.brush({ [one.column]: null })}
        >
          <b>{one.title}</b> {one.text} <i aria-hidden>×</i>
        </button>
      ))}
    </div>
  );
}

function Best({ view, chosen, meta }: { view: View; chosen: Chosen; meta: Meta }) {
  const { best } = chosen;
  if (!best) return <span class="swb-figure">no measured record is chosen</span>;
  if (best.of > 1)
    return (
      <button
        type="button"
        class="swb-figure swx-best"
        data-swx="best-record"
        onClick={() => {
          view.panel.value = 'winners';
        }}
      >
        <b>{best.of}</b> tasks or devices, each with <span class="swb-link">its best</span>
      </button>
    );
  const all = chosen.n === meta.n;
  return (
    <button
      type="button"
      class="swb-figure is-main swx-best"
      title="Show this record"
      data-swx="best-record"
      onClick={() => {
        view.panel.value = 'explore';
        void view.open(best.record, true);
      }}
    >
      {meta.direction === 'max' ? 'largest' : 'best'}
      {all ? '' : ' chosen'} <b>{best.cost}</b> {best.unit} <span class="swb-link">record {best.record}</span>
    </button>
  );
}

export function Header({ view }: { view: View }) {
  const { store } = view;
  const meta = store.see('meta');
  const chosen = store.see('chosen');
  if (!meta || !chosen) return null;
  const narrowed = chosen.brushes.length > 0 || chosen.text.trim() !== '' || chosen.statuses.some(one => !one[4]);
  return (
    <header class="swx-top">
      <div class="swb-top">
        <div class="swb-crumb">
          <b class="swb-cut" title={meta.title}>
            {meta.title}
          </b>
          <span class="swb-mut swb-nowrap">
            {meta.format} · {plural(meta.n, 'record')}
            {meta.live && ` · ${meta.live}`}
          </span>
        </div>
        <Task view={view} meta={meta} chosen={chosen} />
      </div>
      {meta.warnings.length > 0 && (
        <details class="swb-note is-warn swx-warnings">
          <summary>
            {meta.warnings[0]}
            {meta.warnings.length > 1 && ` (and ${meta.warnings.length - 1 + meta.more_warnings} more)`}
          </summary>
          {meta.warnings.slice(1).map(one => (
            <p key={one}>{one}</p>
          ))}
        </details>
      )}
      <div class="swx-choice">
        <Statuses view={view} chosen={chosen} />
        <Filter view={view} chosen={chosen} meta={meta} />
        <span class="swx-n" role="status" aria-live="polite" data-swx="chosen">
          <b>{count(chosen.n)}</b> of {count(chosen.of)} chosen
          {chosen.n < chosen.of && chosen.of > 0 && <span class="swb-faint"> {percent(chosen.n / chosen.of)}</span>}
        </span>
        <Button
          class="swb-button"
          reason={narrowed ? '' : 'everything is chosen'}
          onPress={() => store.clear()}
          data-swx="clear"
        >
          Choose all<Key>Esc</Key>
        </Button>
      </div>
      <Ranges view={view} chosen={chosen} />
      {meta.reading !== null && (
        <p class="swx-reading" role="status">
          The parameters are being read, {percent(meta.reading)}
        </p>
      )}
      <div class="swb-bar">
        <Tabs view={view} meta={meta} />
        <div class="swb-figures">
          <Best view={view} chosen={chosen} meta={meta} />
        </div>
      </div>
    </header>
  );
}

function Tabs({ view, meta }: { view: View; meta: Meta }) {
  const shown = view.panel.value;
  const tabs = ['Explore', ...new Set(meta.panels.map(([, tab]) => tab))];
  const open = meta.panels.find(([name]) => name === shown)?.[1] ?? 'Explore';
  const pick = (tab: string): void => {
    view.last.set(open, shown);
    view.panel.value = view.last.get(tab) ?? meta.panels.find(one => one[1] === tab)?.[0] ?? 'explore';
  };
  const keys = (event: KeyboardEvent): void => {
    const at = tabs.indexOf(open);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    pick(tabs.at(to % tabs.length)!);
    const list = event.currentTarget as HTMLElement;
    requestAnimationFrame(() => list.querySelector<HTMLElement>('[aria-selected=true]')?.focus());
  };
  const questions = (tab: string): string => meta.panels.flatMap(one => (one[1] === tab ? [one[2]] : [])).join('\n');
  return (
    <div class="swb-tabs swx-tabs" role="tablist" aria-label="Views" onKeyDown={keys}>
      {tabs.map(tab => (
        <button
          key={tab}
          type="button"
          role="tab"
          data-swx-tab={tab.toLowerCase()}
          title={questions(tab) || 'All records'}
          aria-selected={tab === open}
          tabIndex={tab === open ? 0 : -1}
          onClick={() => pick(tab)}
        >
          {tab}
        </button>
      ))}
    </div>
  );
}
