import js from '@eslint/js';
import hooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['lib/', 'labextension/'] },
  js.configs.recommended,
  {
    rules: {
      'max-lines': ['error', 400],
      // Prettier breaks code; this finds comments. A sentence for the reader stays in one piece.
      'max-len': ['error', { code: 120, ignoreStrings: true, ignoreTemplateLiterals: true }]
    }
  },
  { files: ['dev/*.js'], languageOptions: { globals: { setTimeout: 'readonly', structuredClone: 'readonly' } } },
  {
    files: ['workbench/widgets/*.js'], // which the Python package sends as they are
    languageOptions: {
      globals: Object.fromEntries(
        (
          'Blob document IntersectionObserver Plotly requestAnimationFrame requestIdleCallback self setTimeout ' +
          'structuredClone URL window'
        )
          .split(' ')
          .map(name => [name, 'readonly'])
      )
    }
  },
  {
    files: ['src/**/*.{ts,tsx}'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { 'react-hooks': hooks },
    rules: {
      // Its sibling `exhaustive-deps` knows no signals: effects here name what they wait for, and read the rest.
      'react-hooks/rules-of-hooks': 'error',
      // A promise of the store is rejected with the error that the kernel sent: a value of the protocol.
      '@typescript-eslint/prefer-promise-reject-errors': 'off'
    }
  },
  {
    files: ['src/lab/{beside,model,open,sessions}/**/*.{ts,tsx}'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...[
          'JSXText[value=/[A-Za-z]{2}/]',
          'JSXExpressionContainer > Literal[value=/[A-Za-z]{2}/]:not(JSXAttribute *)',
          'JSXAttribute[name.name=/^(title|name|label|placeholder|aria-label)$/] > Literal[value=/[A-Za-z]{2}/]',
          'JSXAttribute[name.name=/^(title|name|label|placeholder|aria-label)$/] TemplateLiteral',
          'NewExpression[callee.name="Told"] > :matches(Literal, TemplateLiteral)',
          'Property[key.name=/^(caption|label|title|hint|message|busy)$/] > :matches(Literal[value=/[A-Za-z]{2}/], TemplateLiteral)'
        ].map(selector => ({ selector, message: "What a person reads goes through trans.__('…')." }))
      ]
    }
  }
);
