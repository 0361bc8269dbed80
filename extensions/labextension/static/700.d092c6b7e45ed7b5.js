"use strict";(self.rspackChunkschedule_workbench=self.rspackChunkschedule_workbench||[]).push([[700],{44(e,o,s){var r=s(40),t=s.n(r),a=s(41),i=(s.n(a))()(t());i.push([e.id,`/* Buttons, and a few of which one is pressed. */
.swb-button {
  height: 24px;
  padding: 0 8px;
  border: var(--swb-edge);
  background: var(--swb-bg);
}
.swb-button:hover {
  background: var(--swb-bg2);
}
.swb-button.is-primary {
  background: var(--swb-ac);
  border-color: var(--swb-ac);
  color: var(--swb-ac-tx);
  font-weight: 600;
}
:is(.swb-button, .swb-mini)[aria-disabled='true'] {
  border-style: dashed;
  background: none !important;
  color: var(--swb-tx3) !important;
  &.is-ghost {
    opacity: 0.5;
  }
}
.swb-switch {
  display: inline-flex;
  align-self: flex-start;
  border: var(--swb-edge);
  border-radius: 6px;
  overflow: hidden;
}
.swb-switch button {
  height: 22px;
  padding: 0 10px;
  border: 0;
  background: none;
  color: var(--swb-tx2);
  font-size: 11px;
}
.swb-switch button[aria-pressed='true'] {
  background: var(--swb-ac-soft);
  color: var(--swb-ac);
  font-weight: 600;
}
.swb-switch button:focus-visible {
  outline-offset: -2px;
}
`,""]),s.d(o,{},{A:i})},49(e,o,s){var r=s(40),t=s.n(r),a=s(41),i=(s.n(a))()(t());i.push([e.id,`/* A drawn graph. */
.swb-dag-stage {
  position: relative;
  flex: 1 1 auto;
  min-height: 200px;
  border: var(--swb-hair);
  border-radius: 6px;
  overflow: hidden;
}
.swb-dag-svg {
  position: absolute;
  inset: 0;
  width: 100%;
  height: 100%;
  display: block;
  cursor: grab;
  touch-action: none;
  user-select: none;
}
.swb-dag-svg.is-over {
  cursor: pointer;
}
.swb-dag-svg:active {
  cursor: grabbing;
}
.swb-edges {
  fill: none;
  stroke: var(--swb-line2);
  stroke-width: 1.2;
}
.swb-edges.is-linked {
  stroke: var(--swb-tx2);
  stroke-width: 1.8;
}
.swb-tone1 {
  --swb-tone: var(--swb-s1);
}
.swb-tone2 {
  --swb-tone: var(--swb-s2);
}
.swb-tone3 {
  --swb-tone: var(--swb-s3);
}
.swb-tone4 {
  --swb-tone: var(--swb-s4);
}
.swb-tone5 {
  --swb-tone: var(--swb-s5);
}
.swb-tone6 {
  --swb-tone: var(--swb-s6);
}
.swb .swb-node {
  cursor: pointer;
  outline: none;
}
.swb-many {
  font: 600 64px var(--swb-ui);
  fill: var(--swb-tx2);
  dominant-baseline: central;
  pointer-events: none;
}
.swb-node-box {
  stroke: var(--swb-line2);
  stroke-width: 1;
  fill: var(--swb-tone, var(--swb-bg2));
}
.swb-node {
  &.is-fixed {
    cursor: inherit;
  }
  text {
    font-family: var(--swb-ui);
    fill: var(--swb-tx);
    text-anchor: middle;
    pointer-events: none;
  }
  .is-mono & text:not(.swb-node-sub) {
    font-family: var(--swb-mono);
  }
  &:is(.is-view, .is-input, .is-output) {
    .swb-node-box {
      fill: var(--swb-tone, var(--swb-bg));
    }
    text {
      fill: var(--swb-tx3);
    }
  }
  &.is-view .swb-node-box {
    stroke-dasharray: 3 2;
  }
  &:is(.swb-tone2, .swb-tone3, .swb-tone4, .swb-tone5, .swb-tone6) .swb-node-box {
    stroke: none;
  }
  &:is(.swb-tone1, .swb-tone2, .swb-tone3) text {
    fill: var(--swb-s-lo);
  }
  &.swb-tone4 text {
    fill: var(--swb-i4);
  }
  &:is(.swb-tone5, .swb-tone6) text {
    fill: var(--swb-s-hi);
  }
  &:hover .swb-node-box {
    stroke: var(--swb-tx3);
    stroke-width: 1;
  }
  &.is-frame {
    .swb-node-box,
    &:hover .swb-node-box {
      fill: var(--swb-bg);
      stroke: var(--swb-line2);
    }
    text {
      text-anchor: start;
      fill: var(--swb-tx2);
    }
    text.swb-times {
      text-anchor: end;
      font-weight: 600;
      fill: var(--swb-tx);
    }
  }
  &.is-removed .swb-node-box {
    stroke: var(--swb-dng);
    stroke-width: 2;
    stroke-dasharray: 5 3;
  }
  &.is-added .swb-node-box {
    stroke: var(--swb-ac);
    stroke-width: 2;
  }
  &.is-changed .swb-node-box {
    stroke: var(--swb-s5);
    stroke-width: 2;
    stroke-dasharray: 1 3;
    stroke-linecap: round;
  }
}
.is-dim {
  opacity: 0.22;
}
.swb-stack {
  fill: none;
  stroke: var(--swb-line2);
}
.swb-hatch {
  fill: none;
  stroke: var(--swb-tx3);
  stroke-width: 1;
  opacity: 0.5;
  pointer-events: none;
}
.swb-ring {
  fill: none;
  stroke: none;
  stroke-width: 2;
  vector-effect: non-scaling-stroke;
}
.swb-ring.is-current {
  stroke: var(--swb-ac);
}
.swb-node:focus-visible .swb-ring {
  stroke: var(--swb-tx);
}
.swb-node:focus-visible .swb-ring.is-current {
  stroke: var(--swb-ac);
  stroke-width: 3;
}
.swb-block {
  fill: var(--swb-tone, var(--swb-line2));
  &.is-frame {
    fill: var(--swb-bg);
    stroke: var(--swb-line2);
  }
  &.swb-hatch {
    fill: none;
  }
  &.is-removed {
    fill: var(--swb-dng);
  }
  &.is-added {
    fill: var(--swb-ac);
  }
  &.is-changed {
    fill: var(--swb-s5);
  }
}
.swb-minimap {
  position: absolute;
  right: 4px;
  top: 4px;
  background: var(--swb-bg);
  box-shadow: 0 0 0 1px var(--swb-line);
  border-radius: 2px;
  z-index: 2;
  cursor: pointer;
  touch-action: none;
}
.swb-minimap-frame {
  fill: none;
  stroke: var(--swb-ac);
  stroke-width: 1.5;
  vector-effect: non-scaling-stroke;
}
/* What goes on beyond the edge fades out, and a sign says how much of it there is. */
.swb-dag-stage::before,
.swb-dag-stage::after {
  position: absolute;
  z-index: 1;
  left: 0;
  right: 0;
  height: 22px;
  background: linear-gradient(var(--swb-bg), transparent);
  pointer-events: none;
}
.swb-dag-stage:has(> .is-up)::before {
  content: '';
  top: 0;
}
.swb-dag-stage:has(> .is-down)::after {
  content: '';
  bottom: 0;
  transform: scaleY(-1);
}
.swb .swb-dag-more {
  position: absolute;
  z-index: 2;
  left: 4px;
  height: 20px;
  padding: 0 6px;
  border: var(--swb-edge);
  border-radius: 10px;
  background: var(--swb-bg);
  color: var(--swb-tx2);
  font-size: 11px;
  white-space: nowrap;
  &:hover {
    color: var(--swb-tx);
    background: var(--swb-bg2);
  }
  &.is-up {
    top: 4px;
  }
  &.is-down {
    bottom: 4px;
  }
  &:has(~ .swb-dag-corner:not(:empty)).is-down {
    bottom: 26px;
  }
  &.is-left,
  &.is-right {
    top: calc(50% - 10px);
  }
  &.is-right {
    left: auto;
    right: 76px;
  }
}
.swb-passes ~ .swb-dag-stage {
  min-height: 100px;
}
.swb-dag-corner {
  position: absolute;
  z-index: 2;
  left: 0;
  bottom: 0;
  padding: 2px 6px;
  border-radius: 0 4px 0 0;
  background: color-mix(in srgb, var(--swb-bg) 92%, transparent);
  pointer-events: none;
  &:empty {
    display: none;
  }
}
@container (width < 320px) {
  .swb-readout-bytes {
    display: none;
  }
}
.swb-readout {
  min-height: 32px;
  font-size: 11px;
  color: var(--swb-tx2);
}
.swb-readout-name {
  color: var(--swb-tx);
}
.swb-readout-line {
  display: flex;
  gap: 12px;
  white-space: nowrap;
}
.swb-readout-line,
.swb-readout-line > :is(.swb-faint:first-child, .swb-link) {
  overflow: hidden;
  text-overflow: ellipsis;
  min-width: 0;
}
.swb-readout-line > .swb-faint:first-child {
  flex-shrink: 8;
}
`,""]),s.d(o,{},{A:i})},42(e,o,s){var r=s(40),t=s.n(r),a=s(41),i=s.n(a),n=s(43),b=s(44),l=s(45),w=s(46),p=s(47),d=i()(t());d.i(n.A),d.i(b.A),d.i(l.A),d.i(w.A),d.i(p.A),d.push([e.id,`/* The styles of the explorer's module: the frame, controls and words that it shares with the workbench, then its own. */
`,""]),s.d(o,{},{A:d})},47(e,o,s){var r=s(40),t=s.n(r),a=s(41),i=(s.n(a))()(t());i.push([e.id,`/* The explorer of logs. */
.swx-top {
  border-bottom: 0;
}
.swx-choice {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 6px 12px;
  padding: 4px 16px 6px;
}
.swx-chips {
  display: flex;
  flex-wrap: wrap;
  gap: 4px;
}
.swx-chips + .swb-bar,
.swx-choice + .swx-chips {
  padding: 0 16px 6px;
}
.swb .swx-chip {
  height: 24px;
  padding: 0 8px;
  border: var(--swb-edge);
  border-radius: 12px;
  background: none;
  color: var(--swb-tx2);
  max-width: 340px;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.swb .swx-choose .swx-chip {
  max-width: 100%;
}
.swb .swx-chip.is-bad b {
  color: var(--swb-dng);
}
.swb .swx-chip[aria-pressed='true'],
.swb .swx-chip.is-range {
  border-color: var(--swb-ac);
  background: var(--swb-ac-soft);
  color: var(--swb-tx);
}
.swx-chip i {
  font-style: normal;
}
.swx-filter {
  display: flex;
  flex: 1 1 260px;
  flex-wrap: wrap;
  gap: 4px 8px;
  align-items: center;
  input {
    width: 100%;
    font-family: var(--swb-mono);
  }
  input[aria-invalid='true'] {
    border-color: var(--swb-dng);
  }
}
.swx-n {
  white-space: nowrap;
}
.swx-reading {
  padding: 0 16px 6px !important;
  color: var(--swb-tx2);
}
.swx-warnings {
  display: block;
  border-top: var(--swb-hair);
}
.swx-warnings summary {
  cursor: pointer;
}
.swb .swx-best {
  border: 0;
  background: none;
  padding: 0;
}
.swx .swb-bar {
  flex-wrap: wrap;
  gap: 0 16px;
}
.swx .swb-figures {
  flex: 1 0 auto;
}
.swx .swx-tabs {
  flex-wrap: wrap;
  gap: 0 12px;
}
.swx-head {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 4px 10px;
  min-height: 24px;
  margin-bottom: 4px;
  .swb-h3 {
    margin-right: auto;
  }
  .swb-h3:has(+ .swx-aside) {
    margin-right: 0;
  }
  .swx-aside {
    margin-right: auto;
  }
  .swb-switch {
    align-self: center;
  }
}
.swx-wide {
  overflow: auto hidden;
}
.swx-pick {
  display: inline-flex;
  align-items: center;
  gap: 4px;
  font-size: 11px;
  color: var(--swb-tx2);
  white-space: nowrap;
  select {
    max-width: 130px;
  }
}
.swx-top .swx-pick {
  max-width: 100%;
}
.swx-top .swx-pick select {
  min-width: 0;
  max-width: 420px;
}
.swx-legend {
  display: inline-flex;
  align-items: center;
  gap: 4px;
  font-size: 11px;
  color: var(--swb-tx3);
}
.swx-mark {
  width: 14px;
  height: 3px;
  margin-left: 6px;
}
.swx-mark.is-chosen {
  background: var(--swb-ac);
}
.swx-mark.is-all {
  background: var(--swb-bar);
}
.swx-mark.is-best {
  background: var(--swb-s4);
}
.swx-parallel {
  padding: 10px 16px 8px;
  border-bottom: var(--swb-hair);
}
.swx-names {
  position: relative;
  height: 34px;
}
.swx-axis {
  position: absolute;
  top: 0;
  transform: translateX(-30px);
  display: flex;
  flex-direction: column;
  align-items: flex-start;
}
.swx-names.is-close {
  height: 50px;
}
.swx-axis.is-high {
  gap: 16px;
}
.swx-axis.is-low {
  padding-top: 16px;
}
.swb .swx-axis-name {
  padding: 0 2px;
  border: 0;
  background: none;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
  font-weight: 600;
  cursor: grab;
  touch-action: none;
}
.swb .swx-axis-name.is-held {
  color: var(--swb-ac);
  cursor: grabbing;
}
.swx-axis-tools {
  display: flex;
  gap: 2px;
  opacity: 0.6;
  button {
    height: 16px;
    padding: 0 3px;
    border: 0;
    background: none;
    font-size: 10px;
    line-height: 14px;
    color: var(--swb-tx2);
  }
  button:hover {
    color: var(--swb-ac);
  }
}
.swx-axis:is(:hover, :focus-within) .swx-axis-tools {
  opacity: 1;
}
.swx-plot {
  position: relative;
  min-width: 0;
  overflow: hidden;
  touch-action: none;
  cursor: crosshair;
  user-select: none;
}
.swx-canvas {
  position: absolute;
  inset: 0;
  width: 100%;
  height: 100%;
  pointer-events: none;
}
.swx-rail {
  position: absolute;
  top: 0;
  bottom: 0;
  cursor: ns-resize;
  touch-action: none;
}
.swx-range {
  position: absolute;
  left: calc(50% - 6px);
  width: 12px;
  background: color-mix(in srgb, var(--swb-ac) 26%, transparent);
  border: 1px solid var(--swb-ac);
  border-radius: 2px;
  pointer-events: none;
}
.swx-box {
  position: absolute;
  background: color-mix(in srgb, var(--swb-ac) 10%, transparent);
  border: 1px solid var(--swb-ac);
  pointer-events: none;
}
.swx-aside {
  font-size: 11px;
}
.swx-charts {
  display: grid;
  grid-template-columns: repeat(3, minmax(0, 1fr));
  border-bottom: var(--swb-hair);
}
.swx-chart {
  min-width: 0;
  padding: 10px 12px 8px 16px;
}
.swx-chart + .swx-chart {
  border-left: var(--swb-hair);
}
.swx-lower {
  display: grid;
  grid-template-columns: minmax(0, 1fr) 360px;
}
.swx-records {
  min-width: 0;
  padding: 10px 12px 12px 16px;
}
.swx-lower > :last-child {
  border-left: var(--swb-hair);
}
.swx-scroll {
  height: 340px;
  overflow: auto;
  overflow-anchor: none;
  table {
    width: 100%;
    border-collapse: separate;
    border-spacing: 0;
    margin: 0;
    font: 12px/16px var(--swb-ui);
    font-variant-numeric: tabular-nums;
    color: var(--swb-tx);
  }
  :is(th, td) {
    height: 22px;
    padding: 0 8px;
    border: 0;
    text-align: right;
    white-space: nowrap;
    max-width: 220px;
    overflow: hidden;
    text-overflow: ellipsis;
  }
  th {
    position: sticky;
    top: 0;
    z-index: 1;
    background: var(--swb-bg);
    color: var(--swb-tx3);
    font-size: 11px;
    font-weight: 400;
  }
  th button {
    all: unset;
    cursor: pointer;
  }
  th button:focus-visible {
    outline: 2px solid var(--swb-ac);
    outline-offset: -1px;
  }
  th i {
    font-style: normal;
    margin-left: 3px;
  }
  .is-left {
    text-align: left;
  }
  tbody tr {
    background: none;
    cursor: pointer;
  }
  tbody tr:hover {
    background: var(--swb-bg2);
  }
  tbody tr[aria-selected='true'] {
    background: var(--swb-ac-soft);
  }
}
.swx-detail {
  min-width: 0;
  padding: 10px 16px 12px;
}
.swx-detail-body {
  display: flex;
  flex-direction: column;
  gap: 6px;
  max-height: 340px;
  overflow: auto;
  > * {
    flex: none;
  }
  pre {
    max-height: 260px;
    overflow: auto;
    white-space: pre-wrap;
    overflow-wrap: anywhere;
    font: 11px/15px var(--swb-mono);
    color: var(--swb-tx2);
    background: var(--swb-bg2);
    padding: 6px 8px;
  }
  summary {
    cursor: pointer;
    color: var(--swb-tx2);
  }
  .swx-error {
    color: var(--swb-dng);
    background: var(--swb-dng-soft);
  }
}
.swx-pairs > div {
  display: grid;
  grid-template-columns: minmax(90px, 38%) minmax(0, 1fr);
  gap: 8px;
}
.swx-pairs dt {
  color: var(--swb-tx3);
  overflow-wrap: anywhere;
}
.swx-pairs dd {
  overflow-wrap: anywhere;
}
.swx-pairs {
  margin: 0;
}
.swx-variant code {
  user-select: all;
  font: 11px/16px var(--swb-mono);
  overflow-wrap: anywhere;
}
.swx-panel {
  display: flex;
  flex-direction: column;
  gap: 6px;
  padding: 12px 16px 16px;
  min-height: 240px;
}
.swx-finding {
  font-size: 15px;
  line-height: 21px;
  max-width: 110ch;
  overflow-wrap: anywhere;
}
.swx-figure {
  min-width: 0;
  overflow: hidden;
}
.swx-answer {
  height: auto;
  max-height: 420px;
  tbody tr {
    cursor: default;
  }
}
.swx-questions {
  flex-wrap: wrap;
  margin-bottom: 4px;
}
.swx-bar {
  display: inline-block;
  height: 8px;
  margin-right: 8px;
  background: var(--swb-ac);
  opacity: 0.55;
}
@container (max-width: 1060px) {
  .swx-charts {
    grid-template-columns: repeat(2, minmax(0, 1fr));
  }
  .swx-charts > :last-child {
    grid-column: 1 / -1;
    border-left: 0;
    border-top: var(--swb-hair);
  }
  .swx-lower {
    grid-template-columns: minmax(0, 1fr) 300px;
  }
}
@container (max-width: 760px) {
  .swx-charts,
  .swx-lower {
    grid-template-columns: minmax(0, 1fr);
  }
  .swx-charts > * + *,
  .swx-lower > :last-child {
    border-left: 0;
    border-top: var(--swb-hair);
  }
}
.swx-paste {
  display: grid;
  gap: 8px;
  justify-items: start;
  padding: 16px;
  label {
    display: grid;
    gap: 8px;
    width: 100%;
  }
  textarea {
    padding: 8px;
    border: var(--swb-edge);
    border-radius: 6px;
    background: var(--swb-bg);
    color: var(--swb-tx);
    font: 12px/1.4 var(--swb-mono);
    resize: vertical;
  }
}
`,""]),s.d(o,{},{A:i})},48(e,o,s){var r=s(40),t=s.n(r),a=s(41),i=(s.n(a))()(t());i.push([e.id,`/* Graph and stages: what stands around a drawn graph. */
.swb-dag {
  display: flex;
  flex-direction: column;
  gap: 8px;
  min-width: 0;
  min-height: 0;
  height: 100%;
  container-type: inline-size;
}
.swb-dag-head,
.swb-tasks-head {
  display: flex;
  align-items: baseline;
  justify-content: space-between;
  gap: 8px;
  min-width: 0;
}
/* The switch of the shell already says which graph it is. */
.swb-switch ~ .swb-slot .swb-dag-head .swb-h3 {
  display: none;
}
/* Beside the switch there is room for what the graph shows; its sides before and after a pass take a line of their own. */
.swb-switch ~ .swb-slot-graph .swb-dag-head:not(:has(.swb-switch)) {
  gap: 4px;
  align-self: flex-end;
  max-width: calc(100% - 100px);
  flex-wrap: nowrap;
  margin-top: -31px;
}
.swb-slot-graph .swb-dag-head {
  flex-wrap: wrap;
  justify-content: flex-start;
  align-items: center;
  & .swb-h3 {
    margin-right: auto;
  }
}
.swb .swb-dag-head select {
  height: 22px;
  padding: 0 2px;
  font-size: 11px;
  color: var(--swb-tx2);
}
.swb-legend-box {
  width: 12px;
  height: 8px;
  &.is-hatched {
    margin-left: 6px;
    border: var(--swb-edge);
    background: repeating-linear-gradient(135deg, var(--swb-tx3) 0 1px, var(--swb-bg2) 1px 4px);
  }
}
.swb-missing {
  padding: 8px 0;
  color: var(--swb-tx2);
  font-size: 11px;
}
.swb-passes {
  flex: none;
  max-height: 90px;
  overflow: auto;
  border: var(--swb-hair);
  border-radius: 6px;
}
.swb .swb-passes button {
  display: flex;
  gap: 8px;
  width: 100%;
  height: 22px;
  align-items: center;
  padding: 0 8px;
  border: 0;
  background: none;
  font-size: 11px;
  white-space: nowrap;
  & :first-child {
    flex: 1;
  }
  &.is-idle {
    color: var(--swb-tx3);
  }
  &:hover {
    background: var(--swb-bg2);
  }
  &:focus-visible {
    outline-offset: -2px;
  }
  &[aria-pressed='true'] {
    background: var(--swb-ac-soft);
    box-shadow: inset 2px 0 var(--swb-ac);
  }
}
.swb-dag-bar {
  display: flex;
  align-items: center;
  gap: 8px;
  min-width: 0;
}
.swb-search {
  display: flex;
  align-items: center;
  gap: 8px;
  flex: 1;
  min-width: 0;
  font-size: 11px;
  white-space: nowrap;
}
.swb-search input {
  flex: 1 1 56px;
  max-width: 240px;
}
.swb-search input::placeholder {
  color: var(--swb-tx3);
  opacity: 1;
}
.swb-dag-tools {
  display: inline-flex;
  flex: none;
}
.swb .swb-dag-tools button {
  height: 24px;
  min-width: 26px;
  padding: 0 6px;
  text-align: center;
  border: var(--swb-edge);
  background: var(--swb-bg);
  color: var(--swb-tx2);
  font-size: 11px;
}
.swb-dag-tools button + button {
  margin-left: -1px;
}
.swb-dag-tools button:first-child {
  border-radius: 4px 0 0 4px;
}
.swb-dag-tools button:last-child {
  border-radius: 0 4px 4px 0;
}
.swb-dag-tools button:hover {
  background: var(--swb-bg2);
  color: var(--swb-tx);
}
.swb-dag-tools button:focus-visible {
  position: relative;
  z-index: 1;
}
`,""]),s.d(o,{},{A:i})},45(e,o,s){var r=s(40),t=s.n(r),a=s(41),i=(s.n(a))()(t());i.push([e.id,`/* Header, notes, status bar. */
.swb-top {
  display: flex;
  align-items: center;
  gap: 8px 16px;
  padding: 8px 12px 4px 16px;
  flex-wrap: wrap;
}
.swb-crumb {
  display: flex;
  flex: 1 1 280px;
  flex-wrap: wrap;
  align-items: baseline;
  gap: 0 8px;
  min-width: 0;
  font-size: 13px;
  line-height: 20px;
}
.swb-crumb > * {
  max-width: 100%;
}
.swb-crumb .swb-nowrap {
  font-size: 12px;
}
.swb-actions {
  display: flex;
  flex-wrap: wrap;
  gap: 4px;
  align-items: center;
}
.swb [data-swb-do='measure'] {
  justify-content: center;
  min-width: 106px;
  text-align: center;
}
.swb-load {
  flex: none;
  align-self: center;
  max-width: 26ch;
  padding: 1px 8px;
  border-radius: 9px;
  background: var(--swb-warn-soft);
  color: var(--swb-tx2);
  font-size: 11px;
}
.swb-bar {
  display: flex;
  align-items: flex-end;
  gap: 24px;
  padding: 0 16px;
  border-bottom: var(--swb-hair);
}
.swb-tabs {
  display: flex;
  gap: 16px;
}
.swb-tabs button {
  padding: 8px 0 7px;
  border: 0;
  border-bottom: 2px solid transparent;
  background: none;
  color: var(--swb-tx2);
}
.swb-tabs button:hover {
  color: var(--swb-tx);
}
.swb-tabs button[aria-selected='true'] {
  color: var(--swb-tx);
  border-color: var(--swb-ac);
  font-weight: 600;
}
/* One line at any time: what has no room is on a second one that is not shown. */
.swb-figures {
  display: flex;
  flex: 1;
  flex-wrap: wrap;
  gap: 9px 24px;
  align-items: baseline;
  justify-content: flex-end;
  min-width: 0;
  height: 31px;
  overflow: hidden;
}
.swb-figure {
  position: relative;
  display: flex;
  align-items: baseline;
  gap: 6px;
  max-width: 100%;
  white-space: nowrap;
  color: var(--swb-tx2);
}
.swb-figure b {
  font: 600 15px/20px var(--swb-ui);
  color: var(--swb-tx);
}
/* Nothing is cut within a text, which may have a number: what has no room is on the line that is not shown. */
.swb-figure.is-main {
  flex-wrap: wrap;
  row-gap: 9px;
  justify-content: flex-end;
  &:not(:last-child) {
    max-width: 64%;
  }
}
/* Two times that belong together; the rest goes first where there is no room. */
.swb-figure.is-main:has([data-swb-value='default']):not(:last-child) {
  max-width: 100%;
}
.swb-figure.is-main > span:not(.swb-cut) {
  flex: none;
}
.swb-figure.is-main b {
  font-size: 20px;
  line-height: 24px;
  letter-spacing: -0.2px;
}
.swb-figure.is-main span b {
  font-size: 15px;
  line-height: 20px;
}
.swb-figure.is-old,
.swb-figure.is-old b {
  color: var(--swb-tx3);
}
.swb-peak {
  position: absolute;
  inset: auto 0 -3px;
  height: 3px;
  background: var(--swb-line);
}
.swb-peak i {
  display: block;
  height: 3px;
  background: var(--swb-ac);
}
.swb-note {
  display: flex;
  gap: 12px;
  align-items: flex-start;
  justify-content: space-between;
  padding: 8px 16px;
  border-bottom: var(--swb-hair);
  background: var(--swb-bg2);
  color: var(--swb-tx2);
}
.swb-note p {
  max-width: 110ch;
  padding: 4px 0;
  overflow-wrap: anywhere;
}
.swb-note.is-busy,
.swb-note.is-info {
  background: var(--swb-ac-soft);
}
.swb-note.is-warn {
  background: var(--swb-warn-soft);
}
.swb-note.is-error {
  background: var(--swb-dng-soft);
}
.swb-note.is-error b {
  color: var(--swb-dng);
}
.swb-note.is-over {
  position: absolute;
  z-index: 15;
  right: 16px;
  top: 8px;
  max-width: min(460px, calc(100% - 32px));
  border: var(--swb-edge);
  border-radius: 8px;
  box-shadow: var(--swb-shadow);
}
.swb-note-actions {
  display: flex;
  gap: 8px;
  flex: none;
}
.swb-foot {
  display: flex;
  gap: 16px;
  align-items: center;
  height: 28px;
  padding: 0 16px;
  border-top: var(--swb-hair);
  background: var(--swb-bg2);
  color: var(--swb-tx2);
  font-size: 11px;
  white-space: nowrap;
}
.swb-foot-link {
  flex: 0 1 auto;
}
.swb-foot-target {
  flex: 1 2 auto;
  color: var(--swb-tx3);
}
.swb-foot-log {
  flex: 0 1 auto;
  max-width: 30%;
}
.swb-lamp {
  display: inline-block;
  width: 8px;
  height: 8px;
  margin-right: 6px;
  border: 1.5px solid var(--swb-tx2);
  border-radius: 4px;
  vertical-align: -1px;
}
.swb-lamp.is-busy {
  background: var(--swb-ac);
  border-color: var(--swb-ac);
}
.swb-lamp.is-warn {
  background: var(--swb-s4);
  border-color: var(--swb-s4);
  border-radius: 1px;
}
.swb-lamp.is-error {
  background: var(--swb-dng);
  border-color: var(--swb-dng);
  border-radius: 1px;
}
.swb-single-foot {
  padding: 4px 16px 6px !important;
  color: var(--swb-tx2);
  font-size: 11px;
}
.swb .swb-best {
  color: inherit;
}
.swb-best b {
  color: var(--swb-ac);
}
/* The time is never cut: what keeps the machine busy goes first, then the tabs have a line of their own. */
@container swb (max-width: 560px) {
  .swb-load {
    display: none;
  }
}
@container swb (max-width: 420px) {
  .swb-bar {
    flex-wrap: wrap;
  }
  .swb-figures {
    flex: 1 1 100%;
    justify-content: flex-start;
  }
  .swb-figure.is-main:not(:last-child) {
    max-width: 100%;
  }
}
`,""]),s.d(o,{},{A:i})},39(e,o,s){var r=s(40),t=s.n(r),a=s(41),i=s.n(a),n=s(42),b=s(48),l=s(49),w=s(50),p=s(51),d=i()(t());d.i(n.A),d.i(b.A),d.i(l.A),d.i(w.A),d.i(p.A),d.push([e.id,`
`,""]),s.d(o,{},{A:d})},50(e,o,s){var r=s(40),t=s.n(r),a=s(41),i=(s.n(a))()(t());i.push([e.id,`/* The JupyterLab extension: log viewer (swbl-*) and saved views. Colours follow the theme. */
.jp-ScheduleWorkbenchLog {
  overflow: auto;
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  outline: none;
}
.swbl {
  box-sizing: border-box;
  max-width: 1500px;
  margin: 0 auto;
  padding: 10px 18px 32px;
  font: var(--jp-ui-font-size1)/1.45 var(--jp-ui-font-family);
  font-variant-numeric: tabular-nums;
  container-type: inline-size;
}
.swbl p {
  margin: 0;
}
.swbl-status {
  min-height: 1.45em;
  text-align: right;
  color: var(--jp-ui-font-color2);
}
.swbl-quiet,
.swbl-legend {
  color: var(--jp-ui-font-color2);
}
.swbl-note {
  margin: 6px 0 !important;
  padding: 6px 10px;
  border-left: 3px solid var(--jp-info-color1);
  background: var(--jp-layout-color2);
  overflow-wrap: anywhere;
}
.swbl-warn {
  border-color: var(--jp-warn-color1);
}
.swbl-warned {
  padding-left: 6px;
  border-left: 3px solid var(--jp-warn-color1);
}
.swbl-error {
  border-color: var(--jp-error-color1);
}
.swbl-summary {
  display: flex;
  flex-wrap: wrap;
  gap: 8px 26px;
  margin: 8px 0 14px;
}
.swbl-summary div {
  min-width: 0;
  max-width: 100%;
}
.swbl-summary dt {
  font-size: var(--jp-ui-font-size0);
  color: var(--jp-ui-font-color2);
}
.swbl-summary dd {
  margin: 0;
  font-size: var(--jp-ui-font-size2);
  font-weight: 600;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.swbl-columns,
.swbl-pair {
  display: grid;
  grid-template-columns: minmax(0, 3fr) minmax(0, 2fr);
  gap: 0 24px;
}
@container (max-width: 900px) {
  .swbl-columns,
  .swbl-pair {
    grid-template-columns: minmax(0, 1fr);
  }
}
.swbl-section {
  margin-top: 10px;
  padding-top: 8px;
  border-top: 1px solid var(--jp-border-color2);
  min-width: 0;
}
.swbl-section > header {
  display: flex;
  justify-content: space-between;
  gap: 12px;
  margin-bottom: 4px;
}
.swbl-section h2 {
  margin: 0;
  font-size: var(--jp-ui-font-size1);
  font-weight: 600;
}
.swbl-section > header span {
  color: var(--jp-ui-font-color2);
}
.swbl-scroll {
  max-height: 340px;
  overflow: auto;
  overflow-anchor: none;
}
.swbl-table {
  width: 100%;
  border-collapse: collapse;
}
.swbl-table th,
.swbl-table td {
  padding: 2px 7px;
  text-align: left;
  font-weight: normal;
  white-space: nowrap;
}
.swbl-table thead th {
  position: sticky;
  top: 0;
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color2);
  box-shadow: 0 1px var(--jp-border-color2);
}
.swbl-table .swbl-num {
  text-align: right;
}
.swbl-table .swbl-strong {
  font-weight: 600;
}
.swbl-rows tr:hover {
  background: var(--jp-layout-color2);
}
.swbl-rows tr {
  cursor: pointer;
}
.swbl-table tbody tr.swbl-on {
  background: var(--jp-layout-color2);
  box-shadow: inset 3px 0 var(--jp-brand-color1);
}
.swbl-share i {
  display: inline-block;
  height: 8px;
  margin-right: 6px;
  background: var(--jp-warn-color1);
}
.swbl-bad {
  color: var(--jp-error-color1);
}
.swbl-table .swbl-wrap {
  min-width: 220px;
  white-space: normal;
  overflow-wrap: anywhere;
}
.swbl-table th:has(.swbl-task),
.swbl-table .swbl-cut {
  width: 100%;
  min-width: 9em;
  max-width: 0;
}
.swbl-cut {
  overflow: hidden;
  text-overflow: ellipsis;
}
.swbl-task {
  max-width: 100%;
  padding: 1px 4px;
  overflow: hidden;
  text-overflow: ellipsis;
  border: 0;
  background: none;
  color: inherit;
  font: inherit;
  text-align: left;
  cursor: pointer;
  vertical-align: bottom;
}
.swbl-on .swbl-task {
  font-weight: 600;
}
.swbl-button {
  margin: 6px 8px;
  padding: 3px 10px;
  border: 1px solid var(--jp-border-color1);
  border-radius: 3px;
  background: var(--jp-layout-color1);
  color: inherit;
  font: inherit;
  cursor: pointer;
}
.swbl-pick {
  display: flex;
  gap: 8px;
  align-items: center;
}
.swbl-pick select {
  flex: 1;
  min-width: 0;
  padding: 2px 4px;
  border: 1px solid var(--jp-border-color1);
  background: var(--jp-layout-color1);
  color: inherit;
  font: inherit;
}
.swbl :focus-visible {
  outline: 2px solid var(--jp-brand-color1);
  outline-offset: -1px;
}
.swbl-curve {
  min-height: 60px;
  margin-top: 6px;
}
.swbl-curve svg {
  display: block;
  max-width: 100%;
}
.swbl-curve text {
  font-size: 11px;
  fill: var(--jp-ui-font-color2);
}
.swbl-axes line {
  stroke: var(--jp-border-color2);
}
.swbl-axes .swbl-base {
  stroke: var(--jp-border-color1);
}
.swbl-dot {
  fill: var(--jp-ui-font-color3);
  opacity: 0.75;
  stroke: transparent;
  stroke-width: 8px;
  cursor: pointer;
}
.swbl-ring {
  fill: none;
  stroke: var(--jp-ui-font-color1);
  stroke-width: 1.5;
  pointer-events: none;
}
.swbl-cross {
  stroke: var(--jp-error-color1);
  stroke-width: 1.4;
  fill: none;
}
.swbl-best {
  fill: none;
  stroke: var(--jp-brand-color1);
  stroke-width: 2;
}
.swbl-end {
  fill: var(--jp-brand-color1);
}
.swbl-curve .swbl-value {
  fill: var(--jp-ui-font-color1);
  font-weight: 600;
  paint-order: stroke;
  stroke: var(--jp-layout-color1);
  stroke-width: 3px;
}
.swbl-facts {
  margin: 4px 0;
  color: var(--jp-ui-font-color2);
  overflow-wrap: anywhere;
}
.swbl-legend i {
  display: inline-block;
  margin: 0 2px 0 8px;
  font-style: normal;
}
.swbl-key-best {
  width: 16px;
  height: 2px;
  vertical-align: middle;
  background: var(--jp-brand-color1);
}
.swbl-key-dot {
  width: 5px;
  height: 5px;
  border-radius: 50%;
  vertical-align: middle;
  background: var(--jp-ui-font-color3);
}
.swbl-key-cross {
  color: var(--jp-error-color1);
}
.swbl-failures summary {
  padding: 3px 0;
  cursor: pointer;
}
.swbl-steps {
  margin: 0;
  padding-left: 2.6em;
  font: var(--jp-code-font-size)/1.5 var(--jp-code-font-family);
  overflow-wrap: anywhere;
}
.swbl-button:is(:disabled, [aria-disabled='true']) {
  color: var(--jp-ui-font-color2);
  cursor: default;
}
.swbl-example {
  margin: 4px 0 10px 16px;
}
.swbl-example pre {
  max-height: 220px;
  margin: 3px 0 0;
  padding: 8px;
  overflow: auto;
  border: 1px solid var(--jp-border-color2);
  background: var(--jp-layout-color0);
  font: var(--jp-code-font-size)/1.4 var(--jp-code-font-family);
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}
.jp-ScheduleWorkbenchView-note {
  padding: 2px 0 6px;
  color: var(--jp-ui-font-color2);
  font-size: var(--jp-ui-font-size1);
}

/* The panel that opens a model. */
.swbl-open h1 {
  margin: 6px 0 14px;
  font-size: var(--jp-ui-font-size3);
  font-weight: 600;
}
.swbl-open form > p {
  margin: 12px 0;
}
.swbl-open form > button + p {
  margin: 0;
}
.swbl-whole {
  white-space: nowrap;
}
.swbl-open form > button {
  margin: 14px 0 4px;
}
.swbl-open button {
  vertical-align: middle;
}
.swbl-line {
  display: flex;
  flex-wrap: wrap;
  gap: 2px 12px;
  align-items: baseline;
  margin: 6px 0;
}
.swbl-line > :first-child {
  flex: 0 0 160px;
  overflow-wrap: anywhere;
}
.swbl-line > :last-child {
  flex: 1 1 240px;
  min-width: 0;
  overflow-wrap: anywhere;
}
.swbl-open input:not([type='checkbox']) {
  box-sizing: border-box;
  width: 86px;
  height: 26px;
  padding: 0 6px;
  border: 1px solid var(--jp-border-color1);
  border-radius: 2px;
  background: var(--jp-layout-color1);
  color: inherit;
  font: inherit;
}
.swbl-open input:not([type]) {
  width: 220px;
}

/* The viewer of any tuner's log. */
.swbl-log {
  padding: 8px 12px 24px;
}
.swbl-bar {
  display: flex;
  justify-content: flex-end;
  align-items: baseline;
  gap: 8px;
  margin-bottom: 6px;
}
.swbl-bar.is-left {
  justify-content: flex-start;
  margin-top: 10px;
}
.swbl-log > .swbl-facts {
  margin: 0 0 8px;
}
.swbl-facts summary {
  cursor: pointer;
  padding: 2px 0;
}
.swbl-facts ul {
  max-height: 180px;
  margin: 4px 0 0;
  padding-left: 20px;
  overflow: auto;
}
.swbl-facts .swx-answer {
  max-height: 220px;
}
.swbl-wait progress {
  width: min(420px, 100%);
}

/* The workbench in a panel: all the room, no frame of its own. */
.jp-ScheduleWorkbenchPanel {
  overflow: auto;
  background: var(--jp-layout-color1);
}
.jp-ScheduleWorkbenchPanel .swb {
  max-width: none;
  min-height: 100%;
  border: 0;
  border-radius: 0;
}
.jp-ScheduleWorkbenchPanel .swb [data-swb-do='panel'] {
  display: none;
}
`,""]),s.d(o,{},{A:i})},51(e,o,s){var r=s(40),t=s.n(r),a=s(41),i=(s.n(a))()(t());i.push([e.id,`/* A model without a kernel: its graph, and what is chosen in it. */
.jp-ScheduleWorkbenchLate {
  display: flex;
  background: var(--jp-layout-color1);
  overflow: hidden;
}
.jp-ScheduleWorkbenchLate > * {
  flex: 1 1 auto;
  min-width: 0;
  min-height: 0;
}
.jp-ScheduleWorkbenchModel {
  display: flex;
  flex-direction: column;
  overflow: auto;
  outline: none;
}
.jp-ScheduleWorkbenchModel > .jp-ScheduleWorkbenchLog {
  flex: 0 0 auto;
  max-height: max(55%, 300px);
  border-bottom: 1px solid var(--jp-border-color1);
}
.jp-ScheduleWorkbenchModel-page {
  flex: 1 1 0;
  min-height: 320px;
}
.swb.swbl-model {
  box-sizing: border-box;
  display: flex;
  flex-direction: column;
  gap: 6px;
  max-width: none;
  height: 100%;
  padding: 8px 12px;
  border: 0;
  border-radius: 0;
  container-type: inline-size;
}
.swbl-model-bar {
  align-items: center;
  margin: 0;
  & > span {
    flex: 1 1 auto;
    white-space: nowrap;
  }
  & > b {
    white-space: nowrap;
  }
  & > button {
    flex: none;
    white-space: nowrap;
  }
}
.swbl-model-parts {
  display: grid;
  flex: 1 1 auto;
  grid-template: minmax(0, 1fr) / minmax(0, 1fr) clamp(260px, 28%, 480px);
  gap: 12px;
  min-height: 0;
}
@container (max-width: 640px) {
  .swbl-model-parts {
    grid-template: minmax(350px, 60%) auto / minmax(0, 1fr);
    overflow: auto;
  }
  .swbl-details {
    overflow: visible;
  }
}
.swbl-details {
  overflow: auto;
  overflow-wrap: anywhere;
  h2,
  h3 {
    margin: 0 0 4px;
    font-size: 13px;
    font-weight: 600;
  }
  h3 {
    margin-top: 12px;
    color: var(--swb-tx2);
    font-size: 11px;
  }
  p,
  dl,
  ul {
    margin: 0;
    padding: 0;
    list-style: none;
  }
  dl > div {
    display: flex;
    gap: 8px;
  }
  dt {
    flex: 0 0 96px;
    color: var(--swb-tx2);
  }
  dd {
    min-width: 0;
    margin: 0;
  }
  li {
    margin-bottom: 5px;
  }
  .swbl-button {
    float: right;
    margin: 0;
  }
  code {
    font-family: var(--swb-mono);
    font-size: 11px;
  }
}
.swbl-bars {
  display: block;
  width: 100%;
  height: 26px;
  border-bottom: var(--swb-hair);
  path {
    fill: var(--swb-ac);
  }
}

/* The sidebar of tuning sessions. */
.swbl-sessions {
  h2 {
    margin: 4px 0 8px;
    font-size: var(--jp-ui-font-size1);
    font-weight: 600;
  }
  ul {
    margin: 0;
    padding: 0;
    list-style: none;
  }
  progress {
    width: 100%;
  }
  .swbl-table :is(th, td) {
    padding: 2px 3px;
  }
  .swbl-table .swbl-cut {
    min-width: 4em;
  }
  summary {
    cursor: pointer;
  }
}
.swbl-session {
  padding: 8px 0;
  border-top: 1px solid var(--jp-border-color2);
  overflow-wrap: anywhere;
}
.swbl-session-do .swbl-button {
  margin: 4px 8px 4px 0;
}
`,""]),s.d(o,{},{A:i})},46(e,o,s){var r=s(40),t=s.n(r),a=s(41),i=(s.n(a))()(t());i.push([e.id,`/* Words, legends and blanks that several panels use. */
.swb-bg1 {
  background: var(--swb-s1);
}
.swb-bg2 {
  background: var(--swb-s2);
}
.swb-bg3 {
  background: var(--swb-s3);
}
.swb-bg4 {
  background: var(--swb-s4);
}
.swb-bg5 {
  background: var(--swb-s5);
}
.swb-bg6 {
  background: var(--swb-s6);
}
.swb-h3 {
  font: 600 11px/16px var(--swb-ui);
  color: var(--swb-tx2);
  margin: 0;
  white-space: nowrap;
}
.swb-h3 .swb-faint {
  font-weight: 400;
  margin-left: 4px;
}
.swb-faint {
  color: var(--swb-tx3);
}
:is(.swb-dag-head, .swb-tasks-head) .swb-faint {
  font-size: 11px;
}
.swb-mut {
  color: var(--swb-tx2);
}
.swb-nowrap {
  white-space: nowrap;
}
.swb-careful {
  color: var(--swb-dng);
}
.swb-doubt {
  color: var(--swb-s5);
}
.swb-mono {
  font-family: var(--swb-mono);
}
.swb-blank {
  padding: 24px 16px;
  color: var(--swb-tx2);
  max-width: 56ch;
}
.swb-blank p {
  margin: 4px 0 0;
}
.swb-blank code {
  font: 11px/16px var(--swb-mono);
}
.swb-legend {
  display: inline-flex;
  align-items: center;
  gap: 4px;
  color: var(--swb-tx3);
  font-size: 11px;
  white-space: nowrap;
}
.swb-legend-scale {
  display: inline-flex;
}
.swb-legend-scale i {
  width: 12px;
  height: 8px;
}
`,""]),s.d(o,{},{A:i})},43(e,o,s){var r=s(40),t=s.n(r),a=s(41),i=(s.n(a))()(t());i.push([e.id,`/* Tokens, frame and what every panel uses. JupyterLab's variables come first, so that the theme is the host's. */
.swb {
  --swb-bg: var(--jp-layout-color1, #fff);
  --swb-tx: var(--jp-ui-font-color0, #1b1f24);
  --swb-tx2: #4f5862;
  --swb-tx3: #5f6974;
  --swb-bg2: color-mix(in srgb, var(--swb-bg) 96%, #46536b);
  --swb-line: var(--jp-border-color2, #e4e7eb);
  --swb-line2: #c5cbd3;
  --swb-ac: #2456c8;
  --swb-ac-soft: #e9effc;
  --swb-ac-tx: #fff;
  --swb-dng: #a8321f;
  --swb-dng-soft: #fcefec;
  --swb-warn-soft: #fdf2de;
  --swb-s1: #fdf2de;
  --swb-s2: #f9dbab;
  --swb-s3: #f2b671;
  --swb-s4: #de8845;
  --swb-s5: #b4531f;
  --swb-s6: #7d2f12;
  --swb-s-lo: #1b1f24;
  --swb-i4: #1b1f24;
  --swb-s-hi: #fff;
  --swb-bar: #b9c1cb;
  --swb-hair: 1px solid var(--swb-line);
  --swb-edge: 1px solid var(--swb-line2);
  --swb-shadow: 0 8px 28px rgba(20, 26, 36, 0.16), 0 1px 3px rgba(20, 26, 36, 0.12);
  --swb-ui: var(--jp-ui-font-family, Inter, 'Segoe UI', 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif);
  --swb-mono: var(--jp-code-font-family, 'JetBrains Mono', Menlo, Consolas, 'Liberation Mono', monospace);
  container: swb / inline-size;
  position: relative;
  box-sizing: border-box;
  max-width: 2600px;
  margin: 0 auto;
  overflow: clip;
  border: var(--swb-hair);
  border-radius: 8px;
  background: var(--swb-bg);
  color: var(--swb-tx);
  font: 12px/16px var(--swb-ui);
  font-variant-numeric: tabular-nums;
  text-align: left;
}
.swb[data-swb-theme='dark'] {
  --swb-bg: var(--jp-layout-color1, #14161a);
  --swb-tx: var(--jp-ui-font-color0, #e7e9ec);
  --swb-tx2: #b3bac4;
  --swb-tx3: #9aa3af;
  --swb-bg2: color-mix(in srgb, var(--swb-bg) 96%, #fff);
  --swb-line: color-mix(in srgb, var(--swb-bg) 88%, #fff);
  --swb-line2: #4a515c;
  --swb-ac: #8cabff;
  --swb-ac-soft: #1f2a45;
  --swb-ac-tx: #0d1220;
  --swb-dng: #ff9c8a;
  --swb-dng-soft: #33201d;
  --swb-warn-soft: #33271a;
  --swb-s1: #29221c;
  --swb-s2: #48321f;
  --swb-s3: #724722;
  --swb-s4: #b87730;
  --swb-s5: #dd9844;
  --swb-s6: #f8cf8a;
  --swb-s-lo: #e7e9ec;
  --swb-i4: #14161a;
  --swb-s-hi: #14161a;
  --swb-bar: #566070;
  --swb-shadow: 0 10px 32px rgba(0, 0, 0, 0.6), 0 0 0 1px rgba(255, 255, 255, 0.06);
  color-scheme: dark;
}
.swb *,
.swb *::before {
  box-sizing: border-box;
}
.swb button,
.swb input,
.swb select {
  font: inherit;
  color: inherit;
  letter-spacing: inherit;
}
.swb button {
  cursor: pointer;
  text-align: left;
}
.swb button[aria-disabled='true'] {
  cursor: default;
}
.swb:focus,
.swb :focus {
  outline: none;
}
.swb:focus-visible,
.swb :focus-visible {
  outline: 2px solid var(--swb-ac);
  outline-offset: 1px;
  border-radius: 4px;
}
.swb:focus-visible {
  outline-offset: -2px;
}
.swb [hidden] {
  display: none !important;
}
.swb input:not([type='checkbox']):not([type='radio']),
.swb select {
  height: 24px;
  padding: 0 6px;
  border: var(--swb-edge);
  border-radius: 4px;
  background: var(--swb-bg);
  min-width: 0;
  max-width: 100%;
}
.swb input[type='checkbox'] {
  width: 14px;
  height: 14px;
  margin: 0;
  flex: none;
  accent-color: var(--swb-ac);
}
.swb p,
.swb ol,
.swb ul,
.swb pre,
.swb fieldset {
  margin: 0;
  padding: 0;
  border: 0;
  min-width: 0;
}
.swb ol,
.swb ul {
  list-style: none;
}
:where(.swb) b {
  color: var(--swb-tx);
  font-weight: 600;
}
/* The host floats terms of a list and gives them a fifth of its width. */
.swb.swb dt,
.swb.swb dd {
  float: none;
  width: auto;
  margin: 0;
  padding: 0;
  font-weight: inherit;
}
.swb-aside {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}
.swb-cut {
  min-width: 0;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.swb-key,
.swb-sheet kbd {
  font: 11px/14px var(--swb-ui);
  border: 1px solid currentColor;
  border-radius: 3px;
  padding: 0 4px;
  background: none;
  color: inherit;
  box-shadow: none;
}
.swb-key {
  margin-left: 8px;
  opacity: 0.75;
}
.swb .swb-button {
  display: inline-flex;
  align-items: center;
  white-space: nowrap;
}
/* The host rounds every button in its own way; ours say theirs with more weight. */
.swb .swb-button {
  border-radius: 6px;
}
.swb .swb-mini,
.swb .swb-choices button,
.swb .swb-item > button,
.swb .swb-link {
  border-radius: 4px;
}
.swb .swb-tabs button,
.swb .swb-switch button {
  border-radius: 0;
}
.swb .swb-button.is-large {
  height: 28px;
  padding: 0 12px;
}
.swb .swb-button.is-primary:hover {
  background: color-mix(in srgb, var(--swb-ac) 90%, var(--swb-tx));
}
.swb .swb-button.is-ghost {
  height: 28px;
  padding: 0 6px;
  border-color: transparent;
  background: none;
  color: var(--swb-tx2);
}
.swb .swb-button.is-ghost:hover {
  background: var(--swb-bg2);
}
.swb .swb-link {
  padding: 0;
  border: 0;
  background: none;
  color: var(--swb-ac);
  font-size: 11px;
  text-decoration: underline;
  text-underline-offset: 2px;
  text-decoration-thickness: 1px;
  white-space: nowrap;
}
@media (hover: hover) {
  .swb .swb-link.is-quiet:not(:hover) {
    text-decoration-color: var(--swb-line2);
  }
}
.swb .swb-link.is-quiet {
  color: var(--swb-tx2);
}
.swb-icon {
  flex: none;
  fill: none;
  stroke: currentColor;
  stroke-width: 1.4;
}
.swb-hole {
  color: var(--swb-ac);
  font-weight: 700;
}
.swb-dot {
  display: inline-block;
  width: 6px;
  height: 6px;
  margin-left: 6px;
  border-radius: 3px;
  background: var(--swb-ac);
  vertical-align: 1px;
}
.swb-waiting {
  padding: 24px 16px;
  color: var(--swb-tx2);
}
.swb-pulse {
  position: absolute;
  z-index: 5;
  left: 0;
  right: 0;
  top: 0;
  height: 2px;
  overflow: hidden;
}
.swb-pulse i {
  position: absolute;
  width: 30%;
  height: 2px;
  background: var(--swb-ac);
  animation: swb-pulse 1.6s ease-in-out infinite alternate;
}
@keyframes swb-pulse {
  from {
    left: 0;
  }
  to {
    left: 70%;
  }
}
@media (prefers-reduced-motion: reduce) {
  .swb-pulse i {
    animation: none;
    width: 100%;
  }
  .swb * {
    transition: none !important;
    scroll-behavior: auto !important;
  }
}
`,""]),s.d(o,{},{A:i})},41(e){e.exports=function(e){var o=[];return o.toString=function(){return this.map(function(o){var s="",r=void 0!==o[5];return o[4]&&(s+="@supports (".concat(o[4],") {")),o[2]&&(s+="@media ".concat(o[2]," {")),r&&(s+="@layer".concat(o[5].length>0?" ".concat(o[5]):""," {")),s+=e(o),r&&(s+="}"),o[2]&&(s+="}"),o[4]&&(s+="}"),s}).join("")},o.i=function(e,s,r,t,a){"string"==typeof e&&(e=[[null,e,void 0]]);var i={};if(r)for(var n=0;n<this.length;n++){var b=this[n][0];null!=b&&(i[b]=!0)}for(var l=0;l<e.length;l++){var w=[].concat(e[l]);r&&i[w[0]]||(void 0!==a&&(void 0===w[5]||(w[1]="@layer".concat(w[5].length>0?" ".concat(w[5]):""," {").concat(w[1],"}")),w[5]=a),s&&(w[2]&&(w[1]="@media ".concat(w[2]," {").concat(w[1],"}")),w[2]=s),t&&(w[4]?(w[1]="@supports (".concat(w[4],") {").concat(w[1],"}"),w[4]=t):w[4]="".concat(t)),o.push(w))}},o}},40(e){e.exports=function(e){return e[1]}},33(e){var o=[];function s(e){for(var s=-1,r=0;r<o.length;r++)if(o[r].identifier===e){s=r;break}return s}function r(e,r){for(var t={},a=[],i=0;i<e.length;i++){var n=e[i],b=r.base?n[0]+r.base:n[0],l=t[b]||0,w="".concat(b," ").concat(l);t[b]=l+1;var p=s(w),d={css:n[1],media:n[2],sourceMap:n[3],supports:n[4],layer:n[5]};if(-1!==p)o[p].references++,o[p].updater(d);else{var x=function(e,o){var s=o.domAPI(o);return s.update(e),function(o){o?(o.css!==e.css||o.media!==e.media||o.sourceMap!==e.sourceMap||o.supports!==e.supports||o.layer!==e.layer)&&s.update(e=o):s.remove()}}(d,r);r.byIndex=i,o.splice(i,0,{identifier:w,updater:x,references:1})}a.push(w)}return a}e.exports=function(e,t){var a=r(e=e||[],t=t||{});return function(e){e=e||[];for(var i=0;i<a.length;i++){var n=s(a[i]);o[n].references--}for(var b=r(e,t),l=0;l<a.length;l++){var w=s(a[l]);0===o[w].references&&(o[w].updater(),o.splice(w,1))}a=b}}},35(e){var o={};e.exports=function(e,s){var r=function(e){if(void 0===o[e]){var s=document.querySelector(e);if(window.HTMLIFrameElement&&s instanceof window.HTMLIFrameElement)try{s=s.contentDocument.head}catch(e){s=null}o[e]=s}return o[e]}(e);if(!r)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");r.appendChild(s)}},37(e){e.exports=function(e){var o=document.createElement("style");return e.setAttributes(o,e.attributes),e.insert(o,e.options),o}},36(e,o,s){e.exports=function(e){var o=s.nc;o&&e.setAttribute("nonce",o)}},34(e){e.exports=function(e){if("u"<typeof document)return{update:function(){},remove:function(){}};var o=e.insertStyleElement(e);return{update:function(s){var r,t,a;r="",s.supports&&(r+="@supports (".concat(s.supports,") {")),s.media&&(r+="@media ".concat(s.media," {")),(t=void 0!==s.layer)&&(r+="@layer".concat(s.layer.length>0?" ".concat(s.layer):""," {")),r+=s.css,t&&(r+="}"),s.media&&(r+="}"),s.supports&&(r+="}"),(a=s.sourceMap)&&"u">typeof btoa&&(r+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(a))))," */")),e.styleTagTransform(r,o,e.options)},remove:function(){var e;null===(e=o).parentNode||e.parentNode.removeChild(e)}}}},38(e){e.exports=function(e,o){if(o.styleSheet)o.styleSheet.cssText=e;else{for(;o.firstChild;)o.removeChild(o.firstChild);o.appendChild(document.createTextNode(e))}}},32(e,o,s){var r=s(33),t=s.n(r),a=s(34),i=s.n(a),n=s(35),b=s.n(n),l=s(36),w=s.n(l),p=s(37),d=s.n(p),x=s(38),c=s.n(x),h=s(39),g={};g.styleTagTransform=c(),g.setAttributes=w(),g.insert=b().bind(null,"head"),g.domAPI=i(),g.insertStyleElement=d(),t()(h.A,g),h.A&&h.A.locals&&h.A.locals}}]);