"""The four tables of the first hour, the same at every call: each maker yields a header and then rows of text."""

import math
import random
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache

Row = list[str]


def churn(rows: int, seed: int = 0) -> Iterator[Row]:
    """Customers of whom one in twelve leaves, joined from several programs. Those who left alone have days since they cancelled."""
    draw = random.Random(seed)
    yield [
        "customer", "signup", "last_invoice", "monthly_charge", "paid_abroad", "discount", "balance", "income", "deposit", "visits",
        "contract", "autopay", "support_calls", "region", "remark", "days_since_cancelling", "churned",
    ]  # fmt: skip
    for i in range(rows):
        age, charge, discount = int(draw.expovariate(1 / 900)) % 2500, math.exp(draw.gauss(4.3, 0.9)), draw.betavariate(2, 6)
        balance, income, visits = draw.gauss(300, 700), math.exp(draw.gauss(3.9, 0.5)), 1000 + int(math.exp(draw.gauss(6.9, 0.8)))
        contract, autopay = draw.choice(["monthly", "monthly", "yearly", "two years"]), draw.random() < 0.6
        calls = min(9, int(draw.expovariate(0.7)))
        odds = -2.6 + 0.5 * calls + 0.8 * (contract == "monthly") * (1 + 0.4 * math.log(charge / 70)) - 1.5 * math.log1p(age / 400)
        odds += 0.9 * (not autopay) - 2 * discount - 0.0008 * balance + 1.2 * (visits < 1500)
        left = draw.random() < 1 / (1 + math.exp(-odds))
        signup, invoice = date(2024, 6, 30) - timedelta(age), date(2024, draw.randint(1, 6), draw.randint(1, 12))
        yield [
            f"C-{i * 7919 % 1_000_003:06d}",
            draw.choice([f"{signup:%Y-%m-%d}", f"{signup:%m/%d/%Y}", f"{signup:%d %b %Y}", f"{signup:%d.%m.%Y}"]),
            f"{invoice:%m/%d/%Y}",
            "unknown" if draw.random() < 0.02 else f"${charge:,.2f}",
            "€" + f"{30 * charge:,.2f}".translate({ord(","): ".", ord("."): ","}),
            f"{100 * discount:.1f}%",
            f"({-balance:,.0f})" if balance < 0 else f"{balance:,.0f}",
            f"{income:.0f}k",
            f"{20 * charge:,.0f}".replace(",", "'"),
            f"{visits:,}",
            contract,
            draw.choice(["yes", "Yes", "y", "TRUE", "1"] if autopay else ["no", "No ", "n", "false", "0"]),
            str(calls),
            draw.choice(["north", "south", "east", "west"]),
            f"{draw.choice(['He', 'She'])} {draw.choice(['wanted', 'praised', 'disliked'])} our offer, ticket {i * 31 % 99_991} of May.",
            str(draw.randint(1, 60)) if left and draw.random() < 0.99 else "",
            "yes" if left else "no",
        ]


DISTRICTS = {f"district {k:02d}": 0.75 * math.sin(2.4 * k) + 0.03 * k for k in range(1, 25)}
CONDITIONS = {"ruin": -1.2, "poor": -0.4, "fair": 0.0, "good": 0.3, "new": 0.55}
HOUSES = {  # what a column's value adds to the logarithm of the price
    "area": lambda v: 0.95 * math.log(v / 100),
    "plot": lambda v: 0.25 * math.log(v / 400),
    "rooms": lambda v: 0.05 * v,
    "built": lambda v: -0.45 * math.sin((v - 1900) / 20),
    "distance": lambda v: -0.3 * math.log1p(v),
    "district": DISTRICTS.get,
    "condition": CONDITIONS.get,
    "view": lambda v: 0.4 * (v == "yes"),
}
NOISE = 0.31  # standard deviation of the logarithm of the price of one and the same house


def one_house(draw: random.Random) -> list[float | str]:
    return [
        round(math.exp(draw.gauss(4.7, 0.7)), 1), round(math.exp(draw.gauss(6, 1))), draw.randint(1, 9), draw.randint(1880, 2023),
        round(draw.expovariate(1 / 8), 2), draw.choice(list(DISTRICTS)), draw.choice(list(CONDITIONS)),
        draw.choice(["yes", "no", "no", "no"]),
    ]  # fmt: skip


def house(rows: int, seed: int = 0) -> Iterator[Row]:
    """Prices over four decades, of houses of which 30 % of the cells are missing."""
    draw = random.Random(seed)
    yield [*HOUSES, "price"]
    for _ in range(rows):
        cells = one_house(draw)
        log_price = math.log(200_000) + sum(effect(v) for effect, v in zip(HOUSES.values(), cells)) + NOISE * draw.gauss(0, 1)
        yield [*("" if draw.random() < 0.3 else str(v) for v in cells), f"{math.exp(log_price):.0f}"]


def expected_price(row: Row) -> float:
    """The mean price of the houses that a row may be, which no predictor of means can better."""
    log_price = math.log(200_000) + NOISE**2 / 2
    for cell, (name, effect), mean in zip(row, HOUSES.items(), mean_factors()):
        log_price += (effect(cell if name in ("district", "condition", "view") else float(cell))) if cell else math.log(mean)
    return math.exp(log_price)


@cache
def mean_factors() -> list[float]:
    draw, n = random.Random(1), 50_000
    factors = ([math.exp(effect(v)) for effect, v in zip(HOUSES.values(), one_house(draw))] for _ in range(n))
    return [sum(column) / n for column in zip(*factors)]


def wide(rows: int = 200, seed: int = 0) -> Iterator[Row]:
    """300 columns of which five tell the target, linearly. With noise, R² cannot be above .9."""
    draw = random.Random(seed)
    yield [*(f"gene_{k:03d}" for k in range(300)), "response"]
    for _ in range(rows):
        x = [draw.gauss(0, 1) for _ in range(300)]
        response = 2 * x[10] - 2 * x[60] + 1.5 * x[110] + 1.5 * x[160] - x[210] + 1.2 * draw.gauss(0, 1)
        yield [*(f"{v:.4f}" for v in x), f"{response:.4f}"]


def million(rows: int = 1_000_000, seed: int = 0) -> Iterator[Row]:
    """Sales of a year, sorted by day: the first rows are of season 1 alone."""
    draw = random.Random(seed)
    yield ["day", "season", "hour", "workingday", "store", "price", "promo", "temp", "sold"]
    stores = [(f"store {k:02d}", draw.gauss(0, 0.4)) for k in range(50)]
    for i in range(rows):
        day = date(2023, 1, 1) + timedelta(i * 365 // rows)
        season, working, hour = (day.month % 12) // 3 + 1, int(day.weekday() < 5), draw.randint(0, 23)
        store, size = draw.choice(stores)
        price, promo = 10 * math.exp(draw.gauss(0, 0.3)), int(draw.random() < 0.15)
        temp = 12 - 12 * math.cos(2 * math.pi * (i / rows - 0.05)) + draw.gauss(0, 4)
        rush = 1.2 * math.exp(-(((hour - 17) / 2.5) ** 2)) * working + 0.9 * math.exp(-(((hour - 13) / 4) ** 2)) * (1 - working)
        mean = math.exp(2.5 + size + rush - 1.5 * math.log(price / 10) + 0.5 * promo + 0.02 * temp + 0.2 * (season == 4) - (hour < 6))
        sold = round(draw.gammavariate(8, mean / 8))
        yield [str(day), str(season), str(hour), str(working), store, f"{price:.2f}", str(promo), f"{temp:.1f}", str(sold)]
