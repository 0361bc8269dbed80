// The panels by the names that the kernel uses.

import type { ComponentType } from 'preact';
import { CurvePanel } from './charts/curve';
import { GraphPanel } from './graph/graph';
import { StagesPanel } from './graph/stages';
import { NestPanel } from './nest/nest';
import { PalettePanel } from './palette/palette';
import type { PanelProps } from './panel';
import { TasksPanel } from './tuning/tasks';
import { TuningPanel } from './tuning/tuning';
import { VariantsPanel } from './variants/variants';

export const PANELS: Readonly<Record<string, ComponentType<PanelProps>>> = {
  graph: GraphPanel, tasks: TasksPanel, stages: StagesPanel, nest: NestPanel, palette: PalettePanel, variants: VariantsPanel,
  tuning: TuningPanel, chart: CurvePanel
};
