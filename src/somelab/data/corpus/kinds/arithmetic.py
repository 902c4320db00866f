"""Arithmetic in words: chains of sums, word problems with running totals, shopping, sharing, ages, tables, the clock.
Every number that is stated is right, and most answers need a number from some sentences before."""

from __future__ import annotations

from somelab.data.corpus.kinds import sums
from somelab.data.corpus.kinds.clock import clock_time
from somelab.data.corpus.lexicon import noun
from somelab.data.corpus.page import Kind, Page
from somelab.data.corpus.pattern import fixed
from somelab.data.corpus.phrase import Referent, count, measure
from somelab.data.corpus.referents import FEMALE, MALE, Person

COIN, YEAR, MINUTE, STEP = map(noun, ("coin", "year", "minute", "step"))


def hero_and_friend(page: Page) -> None:
    """Two names of different gender, so that every pronoun has one reading."""
    genders = (("female", FEMALE), ("male", MALE))
    first, second = genders if page.chance.happens(50) else genders[::-1]
    page.cast["hero"] = Person(page.draw(first[0]), first[1])
    page.cast["friend"] = Person(page.draw(second[0]), second[1])


def chain(page: Page) -> None:
    """One number after another, each from the last."""
    chance, cast = page.chance, page.cast
    first = value = chance.between(2, 40)
    cast["n"] = cast["first"] = count(value)
    page.say(*sums.CHAIN_STARTS)
    num_steps = chance.between(4, 8)
    for _ in range(num_steps):
        step, operand, value_after = _chain_step(page, value)
        cast.update(n=count(value), k=count(operand), total=count(value_after))
        page.say(*sums.CHAIN_STEPS[step])
        value = value_after
    cast["steps"] = measure(num_steps, STEP)
    if value != first:
        page.say(*sums.CHAIN_ENDS)
    cast["gap"] = count(abs(value - first))
    page.say(sums.CHAIN_CHECKS["higher" if value > first else "lower" if value < first else "same"])
    page.facts["answer"] = count(value).text


def _chain_step(page: Page, value: int) -> tuple[str, int, int]:
    chance = page.chance
    if value % 2 == 0 and value > 8 and chance.happens(25):
        return "halve", 2, value // 2
    if value < 60 and chance.happens(20):
        return "double", 2, value * 2
    if value < 13 and chance.happens(40):
        factor = chance.between(3, 12)
        return "times", factor, value * factor
    if value > 12 and chance.happens(50):
        operand = chance.between(2, min(value - 2, 60))
        return "take", operand, value - operand
    operand = chance.between(2, 60)
    return "add", operand, value + operand


def holding(page: Page) -> None:
    """A word problem with a running total."""
    chance, cast = page.chance, page.cast
    hero_and_friend(page)
    cast.update(item=page.draw("collectable"), box=page.draw("container"), when=chance.pick((noun("day"), noun("morning"))))
    value = chance.between(5, 60)
    cast["n"] = count(value)
    page.say(*sums.HOLDINGS)
    working: list[Referent] = []
    for _ in range(num_steps := chance.between(2, 4)):
        gains = value < 12 or chance.happens(50)
        operand = chance.between(2, 40 if gains else value - 3)
        after = value + operand if gains else value - operand
        sign = "plus/p" if gains else "minus/p"
        working.append(
            Referent(
                {"": (*count(value).forms[""], *fixed(sign), *count(operand).forms[""], *fixed("is"), *count(after).forms[""])}
            )
        )
        value = after
        cast.update(k=count(operand), total=count(value))
        page.say(*(sums.GAINS if gains else sums.LOSSES))
        if len(working) < num_steps:
            page.maybe(40, *sums.TOTALS)
    page.say(*sums.QUESTIONS)
    cast["working"] = _listed(working)
    page.say(*sums.ANSWERS)
    page.facts["answer"] = count(value).text
    gap = chance.between(2, 20)
    other = value - gap if value - gap > 1 and chance.happens(60) else value + gap
    cast.update(m=count(other), gap=count(gap), fewer="fewer/a" if other < value else "more/a", both=count(value + other))
    if chance.happens(60):
        page.say(*sums.COMPARISONS)
        page.say(*sums.TOGETHERS)


def _listed(parts: list[Referent]) -> Referent:
    """Clauses joined by commas and a last `and`."""
    pieces = list(parts[0].forms[""])
    for index, part in enumerate(parts[1:], 1):
        pieces += [*fixed(", and" if index == len(parts) - 1 else ","), *part.forms[""]]
    return Referent({"": tuple(pieces)})


def shopping(page: Page) -> None:
    chance, cast = page.chance, page.cast
    hero_and_friend(page)
    price, price_two = chance.sample(range(2, 16), 2)
    q, q_two = chance.between(2, 9), chance.between(2, 9)
    whole = q * price + q_two * price_two
    paid = -(-(whole + 1) // 10) * 10
    ware, ware_two = page.draw("ware"), page.draw("ware")
    cast.update(
        town=page.draw("town"),
        ware=ware,
        ware_two=ware_two,
        price=measure(price, COIN),
        price_two=measure(price_two, COIN),
        bought=measure(q, ware),
        bought_two=measure(q_two, ware_two),
        q=count(q),
        q_two=count(q_two),
        part=count(q * price),
        part_two=count(q_two * price_two),
        whole=measure(whole, COIN),
        paid=measure(paid, COIN),
        change=measure(paid - whole, COIN),
    )
    for patterns in (sums.SHOP_OPENINGS, sums.SHOP_ORDERS, sums.SHOP_SUMS, sums.SHOP_TOTALS, sums.SHOP_CHANGES):
        page.say(*patterns)
    page.facts["answer"] = count(paid - whole).text


def sharing(page: Page) -> None:
    chance, cast = page.chance, page.cast
    hero_and_friend(page)
    k, each = chance.between(3, 12), chance.between(2, 12)
    rest = chance.below(k)
    cast.update(
        n=count(k * each + rest),
        k=count(k),
        each=count(each),
        product=count(k * each),
        rest=count(rest),
        was="was" if rest == 1 else "were",
        item=page.draw(chance.pick(("collectable", "fruit", "snack"))),
    )
    page.say(*sums.SHARE_OPENINGS)
    page.say(*sums.SHARE_WORKINGS)
    page.say(*(sums.SHARE_LEFT if rest else sums.SHARE_EVEN))
    page.facts["answer"] = count(each).text


def ages(page: Page) -> None:
    chance, cast = page.chance, page.cast
    hero_and_friend(page)
    hero, friend = cast["hero"], cast["friend"]
    assert isinstance(hero, Person)
    assert isinstance(friend, Person)
    older = chance.happens(50)
    gap = chance.between(2, 9)
    n = chance.between(gap + 2, 40)
    m = n + gap if older else n - gap
    span = chance.between(2, 20)
    cast.update(
        n=count(n),
        m=count(m),
        k=count(gap),
        gap=measure(gap, YEAR),
        older="older" if older else "younger",
        span=measure(span, YEAR),
        sign="plus/p" if older else "minus/p",
        n_later=count(n + span),
        m_later=count(m + span),
        both=count(n + m + 2 * span),
        kin=noun("sister" if friend.gender is FEMALE else "brother"),
        sibling=noun("sister" if hero.gender is FEMALE else "brother"),
    )
    for patterns in (sums.AGES, sums.AGE_WORKINGS, sums.AGE_FUTURES, sums.AGE_SUMS):
        page.say(*patterns)
    page.facts["answer"] = count(m).text


def clock(page: Page) -> None:
    chance, cast = page.chance, page.cast
    hero_and_friend(page)
    start, length, extra = 5 * chance.between(84, 240), 5 * chance.between(3, 19), 5 * chance.between(2, 12)
    cast.update(
        start=clock_time(start),
        end=clock_time(start + length),
        later=clock_time(start + length + extra),
        length=measure(length, MINUTE),
        extra=measure(extra, MINUTE),
        event=page.draw("public_event"),
        town=page.draw("town"),
    )
    for pattern in chance.pick(sums.CLOCKS):
        page.say(pattern)
    page.facts["answer"] = clock_time(start + length).text


def table(page: Page) -> None:
    chance, cast = page.chance, page.cast
    hero_and_friend(page)
    k, start, num_lines = chance.between(2, 15), chance.between(1, 7), chance.between(4, 7)
    cast["k"] = count(k)
    page.say(*sums.TABLE_STARTS)
    pattern = chance.pick(sums.CHAIN_STEPS["times"][:2])
    for factor in range(start, start + num_lines):
        cast.update(n=count(factor), total=count(factor * k))
        page.say(pattern)
    last = start + num_lines - 1
    cast.update(first=count(start * k), last=count(last * k), gap=count((last - start) * k), steps=measure(num_lines - 1, STEP))
    page.say(*sums.TABLE_ENDS)
    page.facts["answer"] = count(last * k).text


FORMS = (holding, chain, shopping, sharing, ages, clock, table)


def write(page: Page) -> None:
    """One form, and more of other forms while the page is short."""
    for form in page.chance.sample(FORMS, len(FORMS)):
        if page.num_words >= 70:
            break
        if page.num_words:
            page.new_line()
        form(page)


KIND = Kind("arithmetic", write, 60, 180)
