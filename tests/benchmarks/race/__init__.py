"""The race against MetaSchedule: the same kernels for both, one fresh process per run and per measurement."""
