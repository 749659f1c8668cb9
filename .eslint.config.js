import regexp from 'eslint-plugin-regexp'
import tseslint from 'typescript-eslint'

/** Globals that only src/main.ts and src/cli may use: other code takes their values as arguments. */
const effects = [
  { object: 'process', property: 'env', message: 'Take a configuration: only src/main.ts reads the environment.' },
  { object: 'process', property: 'exit', message: 'Throw: only src/main.ts ends the process.' },
  {
    object: 'Date',
    property: 'now',
    message: 'Take the time as an argument: only src/main.ts, and src/web/main.tsx of a page, ask the clock.',
  },
]

const defaultExport = {
  selector: 'ExportDefaultDeclaration, ExportSpecifier[exported.name="default"]',
  message: 'Export it by its name.',
}

export default tseslint.config(
  { ignores: ['src/database/prisma/generated/', '**/*.generated.ts', '.data/', '.build/', '.screenshots/'] },
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      // == null asks for null and undefined at once, which GraphQL's arguments can be.
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'max-depth': ['error', 3],
      '@typescript-eslint/consistent-type-imports': 'error',
      // A type has the index signature that a library's constraint may ask for, an interface hasn't.
      '@typescript-eslint/consistent-type-definitions': 'off',
      // A number has one text.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // `return this.#open(fact)` in a switch and `(error) => log(error)` say all there is to say.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      // `void` before an expression says that its value is left unused on purpose.
      '@typescript-eslint/no-meaningless-void-operator': 'off',
      // `rows[index] as Row` says which type is known better, `!` only that one is; `!` is banned.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      // `{ kind: _, ...rest }` takes a key out.
      '@typescript-eslint/no-unused-vars': ['error', { varsIgnorePattern: '^_$', argsIgnorePattern: '^_$' }],
    },
  },
  {
    files: ['src/**/*.ts', 'src/**/*.tsx'],
    plugins: { regexp },
    rules: {
      // A text from outside could block the process: 16 KB in a header take a quadratic pattern 0.15 s.
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential' }],
      'max-lines': ['error', { max: 220 }],
      'no-restricted-syntax': ['error', defaultExport],
      'no-restricted-properties': ['error', ...effects],
    },
  },
  { files: ['src/main.ts', 'src/cli/**/*.ts', 'src/web/main.tsx'], rules: { 'no-restricted-properties': 'off' } },
  {
    files: ['test/**/*.ts'],
    rules: {
      // The helpers of the tests are plain functions in an object, taken out of it by name.
      '@typescript-eslint/unbound-method': 'off',
      // The JSON of an answer has no type before the test has checked it.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      // The strings that tests take apart are hex digits.
      '@typescript-eslint/no-misused-spread': 'off',
    },
  },
  // Plain JavaScript has no types to check by.
  { files: ['**/*.js', '**/*.mjs'], ...tseslint.configs.disableTypeChecked },
)
