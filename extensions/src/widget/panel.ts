// What every panel is given.

import type { Model } from './model';
import type { Store } from './store';

export interface PanelProps { readonly store: Store; readonly model: Model }
