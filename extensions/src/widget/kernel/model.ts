// The part of a widget model that the front end uses. Hosts differ: everything beyond the first six may be missing.

import type { Screen } from '../shell/screen';

export interface Signal<T> {
  connect(slot: (sender: unknown, value: T) => void): unknown;
  disconnect(slot: (sender: unknown, value: T) => void): unknown;
}
/** What is read of a message that the kernel publishes. */
export interface Heard {
  readonly header: { readonly msg_type?: string };
  readonly parent_header: { readonly msg_type?: string };
  readonly content: { readonly execution_state?: string };
}
export interface Kernel {
  readonly status?: string;
  readonly iopubMessage?: Signal<Heard>;
  readonly statusChanged?: Signal<string>;
  readonly disposed?: Signal<unknown>;
  readonly clientId?: string;
  readonly supportsSubshells?: boolean;
  requestCreateSubshell?(content: object): {
    readonly done: Promise<{ readonly content: { readonly subshell_id: string } }>;
  };
  requestDeleteSubshell?(content: object): unknown;
  sendShellMessage?(message: object, expectReply: boolean, disposeOnDone: boolean): unknown;
}
export interface WidgetManager {
  readonly kernel?: Kernel | null;
  get_model?(id: string): Promise<unknown>;
  create_view?(model: unknown, options?: object): Promise<unknown>;
}
/** What the kernel's side of a model holds; `key` and `root` name the workbench that a panel belongs to. */
interface Traits {
  readonly key: string;
  readonly root: string;
  readonly panel: string;
  /** Whether it stands on a page without a kernel. */
  readonly page: boolean;
  /** What views show first, and again when its `turn` is another one. */
  readonly screen: Screen;
  /** Reference to the model of the figure. */
  readonly figure: string;
}
export interface Model {
  get<K extends keyof Traits>(name: K): Traits[K] | undefined;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown, callbacks?: unknown, buffers?: unknown): void;
  on(event: string, callback: (...args: never[]) => void): void;
  off(event: string, callback?: (...args: never[]) => void): void;
  readonly widget_manager?: WidgetManager;
  readonly comm_live?: boolean;
}
