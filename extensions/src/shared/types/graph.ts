// The model, and the stages of a task, as drawings.

export interface GraphNode {
  readonly id: string;
  readonly label: string;
  readonly sub: string;
  readonly task: number | null;
  readonly kind: string;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}
export interface GraphEdge { readonly a: string; readonly b: string; readonly points: readonly (readonly number[])[] }
export interface GraphSlice {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly width: number;
  readonly height: number;
}
