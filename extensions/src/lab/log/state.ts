/** What the page of a log shows, and what of it the reader has chosen. */
import type { LogSummary } from './summary';

export interface Notice {
  level: 'info' | 'warn' | 'error';
  text: string;
  hint?: string;
}

export interface ViewState {
  log: LogSummary;
  loaded: boolean;
  size: number;
  torn: string;
  follow: string;
  notices: Notice[];
  /** Key of the chosen task, '' for the whole model. */
  selected: string;
  allTasks: boolean;
  /** Place in the log of the trial whose details are shown, 0 for none. */
  chosen: number;
}

export interface ViewProps {
  state: ViewState;
  select: (key: string) => void;
  showAll: () => void;
  choose: (at: number) => void;
  /** Show the records in the explorer, which the server reads. */
  records: () => void;
  notebook: () => void;
}
