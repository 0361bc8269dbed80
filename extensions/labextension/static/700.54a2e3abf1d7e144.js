"use strict";(self.rspackChunkschedule_workbench=self.rspackChunkschedule_workbench||[]).push([[700],{22(o,r,e){var t=e(23),n=e.n(t),a=e(24),l=e.n(a),i=e(25),s=l()(n());s.i(i.A),s.push([o.id,`
`,""]),e.d(r,{},{A:s})},25(o,r,e){var t=e(23),n=e.n(t),a=e(24),l=(e.n(a))()(n());l.push([o.id,`/* The JupyterLab extension: log viewer (swbl-*) and saved views. Colours follow the theme. */
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
.swbl-button:disabled {
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
`,""]),e.d(r,{},{A:l})},24(o){o.exports=function(o){var r=[];return r.toString=function(){return this.map(function(r){var e="",t=void 0!==r[5];return r[4]&&(e+="@supports (".concat(r[4],") {")),r[2]&&(e+="@media ".concat(r[2]," {")),t&&(e+="@layer".concat(r[5].length>0?" ".concat(r[5]):""," {")),e+=o(r),t&&(e+="}"),r[2]&&(e+="}"),r[4]&&(e+="}"),e}).join("")},r.i=function(o,e,t,n,a){"string"==typeof o&&(o=[[null,o,void 0]]);var l={};if(t)for(var i=0;i<this.length;i++){var s=this[i][0];null!=s&&(l[s]=!0)}for(var p=0;p<o.length;p++){var c=[].concat(o[p]);t&&l[c[0]]||(void 0!==a&&(void 0===c[5]||(c[1]="@layer".concat(c[5].length>0?" ".concat(c[5]):""," {").concat(c[1],"}")),c[5]=a),e&&(c[2]&&(c[1]="@media ".concat(c[2]," {").concat(c[1],"}")),c[2]=e),n&&(c[4]?(c[1]="@supports (".concat(c[4],") {").concat(c[1],"}"),c[4]=n):c[4]="".concat(n)),r.push(c))}},r}},23(o){o.exports=function(o){return o[1]}},16(o){var r=[];function e(o){for(var e=-1,t=0;t<r.length;t++)if(r[t].identifier===o){e=t;break}return e}function t(o,t){for(var n={},a=[],l=0;l<o.length;l++){var i=o[l],s=t.base?i[0]+t.base:i[0],p=n[s]||0,c="".concat(s," ").concat(p);n[s]=p+1;var d=e(c),b={css:i[1],media:i[2],sourceMap:i[3],supports:i[4],layer:i[5]};if(-1!==d)r[d].references++,r[d].updater(b);else{var u=function(o,r){var e=r.domAPI(r);return e.update(o),function(r){r?(r.css!==o.css||r.media!==o.media||r.sourceMap!==o.sourceMap||r.supports!==o.supports||r.layer!==o.layer)&&e.update(o=r):e.remove()}}(b,t);t.byIndex=l,r.splice(l,0,{identifier:c,updater:u,references:1})}a.push(c)}return a}o.exports=function(o,n){var a=t(o=o||[],n=n||{});return function(o){o=o||[];for(var l=0;l<a.length;l++){var i=e(a[l]);r[i].references--}for(var s=t(o,n),p=0;p<a.length;p++){var c=e(a[p]);0===r[c].references&&(r[c].updater(),r.splice(c,1))}a=s}}},18(o){var r={};o.exports=function(o,e){var t=function(o){if(void 0===r[o]){var e=document.querySelector(o);if(window.HTMLIFrameElement&&e instanceof window.HTMLIFrameElement)try{e=e.contentDocument.head}catch(o){e=null}r[o]=e}return r[o]}(o);if(!t)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");t.appendChild(e)}},20(o){o.exports=function(o){var r=document.createElement("style");return o.setAttributes(r,o.attributes),o.insert(r,o.options),r}},19(o,r,e){o.exports=function(o){var r=e.nc;r&&o.setAttribute("nonce",r)}},17(o){o.exports=function(o){if("u"<typeof document)return{update:function(){},remove:function(){}};var r=o.insertStyleElement(o);return{update:function(e){var t,n,a;t="",e.supports&&(t+="@supports (".concat(e.supports,") {")),e.media&&(t+="@media ".concat(e.media," {")),(n=void 0!==e.layer)&&(t+="@layer".concat(e.layer.length>0?" ".concat(e.layer):""," {")),t+=e.css,n&&(t+="}"),e.media&&(t+="}"),e.supports&&(t+="}"),(a=e.sourceMap)&&"u">typeof btoa&&(t+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(a))))," */")),o.styleTagTransform(t,r,o.options)},remove:function(){var o;null===(o=r).parentNode||o.parentNode.removeChild(o)}}}},21(o){o.exports=function(o,r){if(r.styleSheet)r.styleSheet.cssText=o;else{for(;r.firstChild;)r.removeChild(r.firstChild);r.appendChild(document.createTextNode(o))}}},15(o,r,e){var t=e(16),n=e.n(t),a=e(17),l=e.n(a),i=e(18),s=e.n(i),p=e(19),c=e.n(p),d=e(20),b=e.n(d),u=e(21),w=e.n(u),f=e(22),h={};h.styleTagTransform=w(),h.setAttributes=c(),h.insert=s().bind(null,"head"),h.domAPI=l(),h.insertStyleElement=b(),n()(f.A,h),f.A&&f.A.locals&&f.A.locals}}]);