"""The words of suggested pseudonyms, in each language of the pages."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """adjectives: of which each goes with each of the animals as it stands."""

    adjectives: list[str]
    animals: list[str]
    adjective_first: bool = True

    def pair(self, adjective: str, animal: str) -> str:
        return " ".join([adjective, animal] if self.adjective_first else [animal, adjective]).title()


ENGLISH = Words(
    adjectives="""
able agile airy alert amber ample avid azure bold brave breezy bright brisk calm candid cheery chilly civil clear
clever cosy crisp curious dapper daring deft dusky eager early earnest easy elegant fair famous fancy fearless
festive fleet floral fond frank free fresh frosty gentle giddy glad gleeful golden grand handy happy hardy hazel
hearty honest humble ivory jaunty jolly jovial joyful keen kind lively loyal lucid lucky lunar mellow merry mild
misty modest neat nimble noble olive patient peaceful pearly placid playful plucky polite prompt proud quick quiet
radiant rapid rosy ruby rustic sandy serene shiny silent silver sincere sleepy sleek snowy snug solar spry stately
steady sturdy subtle sunny tender thrifty tidy timely tranquil trusty upbeat velvet vivid warm wavy whimsical
willing windy wise witty woolly zesty
""".split(),
    animals="""
albatross alpaca antelope armadillo auk avocet axolotl badger bear beaver bee beetle bison bobcat bunting butterfly
camel capybara caribou cat chamois cheetah chinchilla chipmunk cicada condor coot cormorant crane cricket curlew deer
dingo dipper dolphin dormouse dove dragonfly duck dunlin eagle egret eider elk emu ermine falcon fawn ferret finch
firefly flamingo fox gannet gazelle gecko gibbon giraffe goldfinch goose grebe grouse gull hamster hare hawk hedgehog
heron hoopoe ibex ibis iguana impala jackdaw jaguar jay kestrel kingfisher kite kiwi koala ladybird lapwing lark
lemur leopard linnet lion lizard llama lobster loon lynx magpie manatee marmot marten meerkat mole moose moth mouse
narwhal newt nightingale nuthatch ocelot octopus okapi oriole osprey otter owl oyster panda pangolin panther parrot
partridge peacock pelican penguin petrel pheasant pika pipit platypus plover pony porcupine puffin quail quetzal
quokka rabbit raccoon raven redstart reindeer robin sandpiper seahorse seal serval shrew siskin skylark snail sparrow
squirrel starfish starling stoat stork swallow swan swift tapir teal tern thrush tiger toad toucan trout turtle
vicuna viper vole wagtail walrus warbler waxwing weasel whale wombat woodpecker wren yak zebra
""".split(),
)

# Masculine animals, so that one form of each adjective will do.
GERMAN = Words(
    adjectives="""
achtsamer behutsamer bunter ehrlicher eifriger emsiger fairer feiner findiger flinker freier freundlicher froher
geduldiger gelassener gescheiter gewandter goldener heiterer heller höflicher kecker kluger kühner lebhafter leiser
munterer mutiger neugieriger pfiffiger ruhiger sanfter schlauer schneller silberner sonniger stiller tapferer treuer
wacher weiser zarter
""".split(),
    animals="""
adler albatros bär biber bussard dachs delfin dompfaff eisvogel elch falke fasan fink flamingo fuchs gecko gepard
habicht hamster hase hecht hirsch igel kakadu kauz kiebitz kolibri kormoran kranich kuckuck lachs laubfrosch löwe luchs
marder maulwurf mauersegler milan otter panda papagei pelikan pinguin pirol puma rabe reiher schwan seehund specht
sperling star steinbock storch tiger uhu waschbär wal wolf zaunkönig zeisig
""".split(),
)

# Adjectives with one form for both genders.
SPANISH = Words(
    adjectives="""
ágil alegre amable audaz azul brillante capaz cordial dócil elegante excelente feliz fiel fuerte gentil grande hábil
humilde jovial leal libre natural noble original paciente prudente puntual radiante sagaz sensible silvestre sonriente
sutil tenaz valiente veloz verde vivaz
""".split(),
    animals="""
abeja águila alce alondra ardilla armiño ballena bisonte búho caballo camello canguro castor cebra ciervo cigüeña cisne
colibrí cóndor conejo corzo cuervo delfín erizo flamenco foca gacela gaviota golondrina gorrión grillo grulla halcón
hormiga jilguero jirafa koala libélula liebre lince llama lobo mapache mariposa mariquita marmota mirlo nutria oso panda
pato pelícano pingüino puma reno ruiseñor tejón tigre topo tortuga tucán vencejo vicuña zorro
""".split(),
    adjective_first=False,
)

# Adjectives with one form for both genders.
FRENCH = Words(
    adjectives="""
agile aimable brave calme célèbre docile drôle énergique fantastique fidèle habile honnête intrépide jaune jeune juste
libre magnifique mauve modeste noble optimiste pacifique paisible poétique rapide robuste rose rouge sage sensible
sincère sobre solide souple svelte sympathique tendre timide tranquille turquoise unique utile
""".split(),
    animals="""
abeille albatros alouette autruche baleine belette bison blaireau bouquetin castor cerf chamois chevreuil chouette
cigale cigogne coccinelle colibri corbeau cygne dauphin écureuil élan faisan faucon flamant fourmi gazelle geai girafe
grenouille grive hérisson hermine héron hibou hirondelle koala lama libellule lièvre linotte loup loutre lynx marmotte
martre merle mésange moineau mouette ours panda papillon pélican phoque pingouin pinson renard rossignol sanglier tortue
zèbre
""".split(),
    adjective_first=False,
)

WORDS = {"en": ENGLISH, "de": GERMAN, "es": SPANISH, "fr": FRENCH}
