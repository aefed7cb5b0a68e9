/** Which English words say nothing about where something is in a code base. */

/** Never searched for, unless quoted: function words, words of asking, and nouns that every code base is full of. */
const STOP = `
a about above across actually after again against ago all almost along already also although always am among an
and another any anybody anyone anything anywhere are aren't around as ask at away back be became because been before
being below best better between both but by came can can't cannot case could couldn't did didn't do does doesn't
doing don't done down during each either else enough etc even ever every everything exactly few for from further
had has hasn't have haven't having he her here hers him his how however i i'd i'll i'm i've if in inside instead into
is isn't it it's its itself just last least less let let's like likely made many may maybe me might mine more most
much must my myself near need needs neither never next no nobody none nor not nothing now of off often on once one
only onto or other others otherwise our ours out over own per perhaps please possible quite rather really same say says said see
seem seems shall she should shouldn't since so some somebody someone something somewhere soon still such sure than
thank thanks that that's the their theirs them then there there's these they they're thing things this those though
through thus to together too toward towards two under until up upon us very via want wants was wasn't we well went
were what what's whatever when whenever where where's whereas wherever whether which while who who's whole whom whose
why will with within without won't would wouldn't yes yet you your yours yourself
come comes coming code codebase codebases repo repos repository repositories source sources
function functions method methods class classes interface interfaces file files folder folders directory
define defined defines definition definitions declare declared declaration implement implemented implements
implementation located location live lives long find finding found locate show explain explains describe tell give list
look looking search know mean means meaning happen happens happened work works working place places exist exists
use uses used using usage usages responsible document documented documentation docs
hi hello hey
`

/** Searched for, but worth less: they are in every file. */
const WEAK = `
add allow apply ask base begin bring call called change check choose compute config create decide default
detect do end ensure entry error event fail first follow format get give go handle hold index input item keep kind
leave line load logic make message module name number object option output part pass path process project
property provide put read real receive remove request response result return run save second send set setting size
start state step stop store support take test text time turn type update user value variable want way whole
write
`

const listed = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ''))

const stopWords = listed(STOP)
const weakWords = listed(WEAK)

/** Whether a lower-case word is never worth a search. */
export const isStopWord = (word: string): boolean => stopWords.has(word)

/** Whether a lower-case word, or its stem, is too common to point anywhere by itself. */
export const isWeakWord = (word: string): boolean => weakWords.has(word)
