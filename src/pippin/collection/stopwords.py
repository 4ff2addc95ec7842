"""Words that say nothing of what a text is about: the function words of English, as lists by name."""

from __future__ import annotations

from pippin.registry import Registry

# Apostrophes are joined before the list is asked, so that contractions stand here as one word; those that are words of
# their own (id, ill, wed) do not.
_ENGLISH = """
a an the
i me my mine myself we us our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves one ones
this that these those here there who whom whose which what when where why how
am is are was were be been being do does did done doing have has had having
can could may might must shall should will would ought cannot
and or but nor so yet if then else than because while although though unless until since as whether
of to in on at by for from with without within into onto upon about above below over under between among
through during before after against toward towards off out up down again further per via
not no yes all any both each either neither every few more most much many other others another some such only
own same too very just also even ever never always often however therefore thus hence
now once still already perhaps rather quite almost etc ie eg
im ive youre youve youd youll hes shes theyre theyve theyd theyll weve
isnt arent wasnt werent dont doesnt didnt havent hasnt hadnt cant couldnt mustnt shouldnt wont wouldnt
thats theres whats whos heres lets
"""

STOP_WORDS: Registry[frozenset[str]] = Registry("stop list")
STOP_WORDS.register("none", frozenset())
STOP_WORDS.register("english", frozenset(_ENGLISH.split()))
