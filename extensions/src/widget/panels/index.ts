// The panels by the names that the kernel uses.

import type { ComponentType } from 'preact';
import type { PanelProps } from '../panel';
import { CurvePanel } from './curve';
import { GraphPanel } from './graph';
import { HistoryPanel } from './history';
import { NestPanel } from './nest';
import { PalettePanel } from './palette';
import { StagesPanel } from './stages';
import { TasksPanel } from './tasks';
import { TuningPanel } from './tuning';

export const PANELS: Readonly<Record<string, ComponentType<PanelProps>>> = {
  graph: GraphPanel, tasks: TasksPanel, stages: StagesPanel, nest: NestPanel, palette: PalettePanel, history: HistoryPanel,
  tuning: TuningPanel, curve: CurvePanel
};
