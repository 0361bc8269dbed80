// The panels by the names that the kernel uses.

import type { ComponentType } from 'preact';
import { ChartPanel } from './charts/chart';
import { CodePanel } from './code/code';
import { DiffPanel } from './code/diff';
import { GraphPanel } from './graph/graph';
import { StagesPanel } from './graph/stages';
import { AccessesPanel } from './nest/accesses';
import { NestPanel } from './nest/nest';
import { PalettePanel } from './palette/palette';
import type { PanelProps } from './panel';
import { TasksPanel } from './tuning/tasks';
import { TuningPanel } from './tuning/tuning';
import { VariantsPanel } from './variants/variants';

export const PANELS: Readonly<Record<string, ComponentType<PanelProps>>> = {
  graph: GraphPanel, tasks: TasksPanel, stages: StagesPanel, nest: NestPanel, accesses: AccessesPanel, palette: PalettePanel, variants: VariantsPanel, code: CodePanel, diff: DiffPanel,
  tuning: TuningPanel, chart: ChartPanel
};
