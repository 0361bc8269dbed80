// What the stand-in for a kernel and its states are made of; nothing changes it.

/** A variant that nothing is known of. */
export const VARIANT = {
  id: 0,
  parent: 0,
  edge: 'step',
  steps: 1,
  text: '',
  primitive: '',
  name: '',
  star: false,
  by: 'hand',
  trial: null,
  holes: 0,
  x: 0,
  y: 0,
  ms: null,
  spread: null,
  gflops: null,
  est: null,
  est_high: null,
  status: '',
  error: '',
  undone: false
};

/** Slices when no task is open. */
export const EMPTY = {
  graph: null,
  stages: null,
  nest: null,
  accesses: null,
  palette: null,
  history: null,
  tasks: null,
  head: null,
  selection: { id: '' },
  tuning: null
};

/** What can be chosen from in a task. */
export const SPACE = {
  holes: [
    { name: 'h_0', values: [1, 2, 4, 7, 8, 14, 28, 56], variants: [0, 1, 2, 3] },
    { name: 'h_1', values: [1, 2, 4, 7, 8, 14, 28, 56], variants: [0, 1, 2, 3] },
    { name: 'h_2', values: [1, 2, 4, 7, 8, 14, 28, 56], variants: [0, 1, 2, 3] },
    { name: 'w_0', values: [1, 2, 4, 7, 8, 14, 28, 56], variants: [0, 1, 2, 3] },
    { name: 'w_1', values: [1, 2, 4, 7, 8, 14, 28, 56], variants: [0, 1, 2, 3] },
    { name: 'w_2', values: [1, 2, 4, 7, 8, 14, 28, 56], variants: [0, 1, 2, 3] },
    { name: 'o_0', values: [1, 2, 4], variants: [0, 1, 2, 3] },
    { name: 'o_1', values: [1, 2, 4], variants: [0, 1, 2, 3] },
    { name: 'o_2', values: [1, 2, 4, 16, 32, 64], variants: [0, 1, 2, 3] },
    { name: 'pad_c_0', values: [1, 2, 4], variants: [0] },
    { name: 'pad_c_1', values: [16, 32, 64], variants: [0] },
    { name: 'h_3', values: [1, 2, 4, 7, 8, 14, 28, 56], variants: [3] },
    { name: 'w_3', values: [1, 2, 4, 7, 8, 14, 28, 56], variants: [3] },
    { name: 'o_3', values: [16, 32, 64], variants: [3] },
    { name: 'c_0', values: [1, 2, 4, 8, 16, 32, 64], variants: [3] },
    { name: 'c_1', values: [1, 2, 4, 8, 16, 32, 64], variants: [3] },
    { name: 'relu_h_0', values: [1, 2, 7, 14], variants: [4, 5] },
    { name: 'conv_ty_0', values: [1, 2, 7, 14], variants: [4, 5] },
    { name: 'conv_ty_1', values: [1, 2, 7, 14], variants: [4, 5] },
    { name: 'relu_w_0', values: [1, 2, 7, 14], variants: [4, 5] },
    { name: 'conv_tx_0', values: [1, 2, 7, 14], variants: [4, 5] },
    { name: 'conv_tx_1', values: [1, 2, 7, 14], variants: [4, 5] },
    { name: 'relu_o_0', values: [1, 2, 4], variants: [4, 5] },
    { name: 'relu_o_1', values: [1, 2, 4, 16, 32], variants: [4, 5] },
    { name: 'conv_V_c_0', values: [2, 4], variants: [4, 5] },
    { name: 'conv_V_c_1', values: [16, 32], variants: [4, 5] },
    { name: 'conv_o_0', values: [1, 2, 4], variants: [4] },
    { name: 'conv_o_1', values: [16, 32, 64], variants: [4] },
    { name: 'relu_o_2', values: [16, 32], variants: [5] }
  ],
  variants: [
    { id: 0, label: 'SSRS', rows: 16200 },
    { id: 1, label: 'SSRS · pad in blocks', rows: 5400 },
    { id: 2, label: 'SSRS · pad as a condition', rows: 5400 },
    { id: 3, label: 'SSRSRS · pad in blocks', rows: 448000 },
    { id: 4, label: 'winograd 4x4', rows: 972 },
    { id: 5, label: 'winograd 4x4, data first', rows: 810 }
  ]
};

/** What the kernel says of the commands to a run. */
export const ORDERS = [
  {
    name: 'pin',
    summary:
      'Hold a hole, a number that the tuner chooses, at one value in all candidates that are proposed from now on.',
    fields: [
      { name: 'task', widget: 'text', label: 'the task: its number, key or name', required: true, names: 'task' },
      { name: 'hole', widget: 'text', label: 'the hole, by its name in the schedule', required: true, names: 'hole' },
      { name: 'value', widget: 'number', label: 'the value', required: true, of: 'hole' }
    ]
  },
  {
    name: 'forbid',
    summary: 'Propose no more candidates with certain values of a hole, or of one sketch of the task.',
    fields: [
      { name: 'task', widget: 'text', label: 'the task: its number, key or name', required: true, names: 'task' },
      { name: 'hole', widget: 'text', label: 'the hole, by its name in the schedule', required: false, names: 'hole' },
      { name: 'values', widget: 'numbers', label: 'the values', required: false, of: 'hole' },
      {
        name: 'variant',
        widget: 'number',
        label: 'the sketch, by its number: a loop nest whose sizes are holes',
        required: false,
        names: 'variant'
      }
    ]
  },
  {
    name: 'release',
    summary: 'Take back what was pinned or forbidden: of a hole, of a sketch, or of the whole task.',
    fields: [
      { name: 'task', widget: 'text', label: 'the task: its number, key or name', required: true, names: 'task' },
      { name: 'hole', widget: 'text', label: 'only this hole', required: false, names: 'hole' },
      { name: 'variant', widget: 'number', label: 'only this sketch', required: false, names: 'variant' }
    ]
  },
  {
    name: 'add',
    summary: 'Measure a candidate next: a whole schedule as its trace, or a sketch with a value for every hole.',
    fields: [
      { name: 'task', widget: 'text', label: 'the task: its number, key or name', required: true, names: 'task' },
      { name: 'trace', widget: 'shown', label: 'the schedule: what `Schedule.to_json` returns', required: false }
    ]
  },
  {
    name: 'budget',
    summary: 'Change how much may be tried in all, or give one task more trials, which it gets before all others.',
    fields: [
      { name: 'trials', widget: 'number', label: 'trials in all, those in the log included', required: false },
      {
        name: 'seconds',
        widget: 'real',
        label: 'time limit of this run in seconds, counted from its start',
        required: false
      },
      {
        name: 'task',
        widget: 'text',
        label: 'the task that gets more: its number, key or name',
        required: false,
        names: 'task'
      },
      { name: 'more', widget: 'number', label: 'so many more trials: for the task, if one is named', required: false }
    ]
  },
  {
    name: 'epsilon',
    summary: 'Change the share of candidates that are drawn at random, whatever the model expects of them.',
    fields: [{ name: 'value', widget: 'real', label: 'the share, 0 to 1', required: true }]
  }
];
