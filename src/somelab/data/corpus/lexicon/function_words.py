"""The closed classes: words whose number does not grow.
A word listed in two classes must be marked in every pattern; a rarer second class is not listed, only marked where it is meant."""

DETERMINERS = """
    a the this that these those my your his her its our their every each some any no all both another many few several either
    neither much such enough
"""
PRONOUNS = """
    i you he she it we they me him her us them myself yourself himself herself itself ourselves themselves mine yours hers ours
    theirs that who whom what which someone somebody anyone anybody everyone everybody nobody nothing something anything
    everything none there whoever
"""
# `ca` and `wo` are what is left of can't and won't.
AUXILIARIES = (
    "ca wo cannot is was are were be been being am has had have having do does did can could will would shall should may might must"
)
PREPOSITIONS = """
    of in on at to for with without from by under over behind beside between among near through across along around past into onto
    inside after before during until since about against above below beneath towards like as beyond despite within opposite per
    except
"""
CONJUNCTIONS = """
    and but or nor so because if when while until before after since although though that than as where whenever once unless
    whether yet wherever
"""
PARTICLES = "to not up down out off"
INTERJECTIONS = "yes oh hello hi goodbye please thanks hurrah well ah hooray ouch hey bye congratulations alas bravo"
# Names of days and months, and titles.
CALENDAR = """
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August September October
    November December Mr Mrs Miss
"""
