import css from '../../style/workbench.css';

export default { render: ({ el }: { el: HTMLElement }) => { el.textContent = css.slice(0, 1); } };
