// A component that is drawn again only when one of its properties is another value.

import { Component, h, type ComponentType, type FunctionComponent, type ComponentChild } from 'preact';

export function memo<P extends object>(view: FunctionComponent<P>): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const keys = new Set([...Object.keys(next), ...Object.keys(this.props)]) as Set<keyof P>;
      for (const key of keys) if (next[key] !== (this.props as P)[key]) return true;
      return false;
    }
    override render(): ComponentChild {
      return h(view, this.props as P);
    }
  };
}
