/** The words of the extension in the language that was chosen. */
import { nullTranslator, type ITranslator, type TranslationBundle } from '@jupyterlab/translation';

const DOMAIN = 'schedule_workbench';

/** English until a plugin has said what translates. */
export let trans: TranslationBundle = nullTranslator.load(DOMAIN);

/** Take the translator of the page. */
export function words(translator: ITranslator | null): TranslationBundle {
  if (translator) trans = translator.load(DOMAIN);
  return trans;
}
