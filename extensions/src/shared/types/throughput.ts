// A machine loop on the ports of the processor.

export interface LoopInstruction {
  readonly text: string;
  readonly row: string;
  /** Number of its line in the listing of assembly. */
  readonly line: number;
  readonly latency: number | null;
  /** Whether it is on the longest chain from one iteration to the next, and whether the model knows it. */
  readonly chain: boolean;
  readonly known: boolean;
  readonly ports: Readonly<Record<string, number>>;
}
/** Answer to "throughput": cycles of one iteration. */
export interface ThroughputAnswer {
  readonly node: number;
  readonly analyser: string;
  readonly model: string;
  readonly row: string;
  readonly trips: number | null;
  readonly text: string;
  /** What that makes of a call, in a sentence; "" where it is not known. */
  readonly whole?: string;
  readonly cycles: number;
  readonly port_cycles: number;
  readonly chain_cycles: number;
  readonly bound: string;
  readonly unknown: readonly string[];
  readonly ports: readonly string[];
  readonly pressure: readonly number[];
  readonly instructions: readonly LoopInstruction[];
}

/** An event of the processor in one call; `counted` is null where it could not be asked. */
export interface CounterRow {
  readonly name: string;
  readonly says: string;
  readonly counted: number | null;
  readonly why_not: string;
  readonly simulated: number | null;
  /** Which model says so. */
  readonly source: string;
}
/** Answer to "counters". */
export interface CountersAnswer {
  readonly node: number;
  readonly why_not: string;
  readonly rows: readonly CounterRow[];
}
