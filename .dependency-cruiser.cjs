/** Imports point one way: cli, inspector → engine → effects, journal → machines → definitions (types only). */
const only = (from, ...allowed) => ({
  name: `${from}-imports-only-${allowed.join('-') || 'itself'}`,
  severity: 'error',
  from: { path: `^src/${from}/` },
  to: { path: '^src/', pathNot: [from, ...allowed].map((folder) => `^src/${folder}/`) },
})

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    only('definitions'),
    only('machines', 'definitions'),
    only('journal', 'machines', 'definitions'),
    only('effects', 'machines', 'definitions'),
    only('engine', 'effects', 'journal', 'machines', 'definitions'),
    only('inspector', 'engine', 'effects', 'journal', 'machines', 'definitions'),
    only('cli', 'inspector', 'engine', 'effects', 'journal', 'machines', 'definitions'),
    {
      name: 'machines-take-types-of-definitions-only',
      severity: 'error',
      from: { path: '^src/machines/' },
      to: { path: '^src/definitions/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'machines-touch-nothing-of-the-world',
      severity: 'error',
      from: { path: '^src/(machines|definitions)/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'machines-use-xstate-and-zod-only',
      severity: 'error',
      from: { path: '^src/machines/' },
      to: { dependencyTypes: ['npm'], pathNot: 'node_modules/(xstate|zod)/' },
    },
    {
      name: 'xstate-stays-behind-machines-and-engine',
      severity: 'error',
      from: { path: '^src/(definitions|journal|effects|cli)/' },
      to: { path: 'node_modules/xstate/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'default'] },
  },
}
