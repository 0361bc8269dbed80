// Drawn marks; each one stands beside a word, undo and redo excepted.

const PATHS: Readonly<Record<string, string>> = {
  undo: 'M5 2 2 5l3 3M2 5h6.5a3.5 3.5 0 0 1 0 7H6',
  redo: 'm9 2 3 3-3 3m3-3H5.5a3.5 3.5 0 0 0 0 7H8',
  parallel: 'M3 2v10M7 2v10M11 2v10',
  vectorize: 'M1.5 5h5v4h-5zM7.5 5h5v4h-5z',
  unroll: 'M2 3h10M2 7h10M2 11h10',
  buffer: 'M2 2h10v10H2zM5 5h4v4H5z',
  whole: 'M8 2h4v4M6 12H2V8M12 2 8 6M2 12l4-4',
  bind: 'M2 2h4v4H2zM8 2h4v4H8zM2 8h4v4H2zM8 8h4v4H8z',
  intrin: 'M4 4h6v6H4zM5.5 1v3m3-3v3m-3 6v3m3-3v3M1 5.5h3m-3 3h3m6-3h3m-3 3h3',
  note: 'M3 1.5h8v11L7 9.5l-4 3z',
  unit: 'M5 2H2v10h3M9 2h3v10H9'
};

export function Icon({ name, size = 14 }: { name: string; size?: number }) {
  return (
    <svg class="swb-icon" width={size} height={size} viewBox="0 0 14 14" aria-hidden>
      <path d={PATHS[name] ?? ''} />
    </svg>
  );
}
