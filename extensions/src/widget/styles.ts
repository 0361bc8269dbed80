// The styles of the widget, one sheet for each area; of two rules that say the same, the later sheet's holds.

import charts from '../../style/charts.css';
import graph from '../../style/graph.css';
import nest from '../../style/nest.css';
import palette from '../../style/palette.css';
import shared from '../../style/shared.css';
import shell from '../../style/shell.css';
import tokens from '../../style/tokens.css';
import tuning from '../../style/tuning.css';
import variants from '../../style/variants.css';

export const STYLES = [tokens, shell, nest, palette, variants, shared, graph, tuning, charts].join('\n');
