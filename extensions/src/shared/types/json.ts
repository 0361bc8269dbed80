// Plain values, as they travel.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type Args = Readonly<Record<string, Json>>;
