/** Version of the front end, set by the bundler. */
declare const __VERSION__: string;
