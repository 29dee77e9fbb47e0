"""The check of the game of 24 as one would write it in Python: json, re, fractions.

Reads JSON Lines with "raw" and the numbers in the field named by the second
argument, and prints how many replies there are and how many are right.
"""
import json
import re
import sys
from fractions import Fraction

MARKER = re.compile(r"^\W*(?:final answer|answer|output)\s*:(.*)$", re.I | re.M)
CUT = re.compile(r"=|->|→")
TOKENS = re.compile(r"\d+|[-+*/()]")
ILLEGAL = re.compile(r"[^-+*/() 0-9]")


def expression(tokens, at):
    value, at = term(tokens, at)
    while tokens[at] in "+-":
        op = tokens[at]
        right, at = term(tokens, at + 1)
        value = value + right if op == "+" else value - right
    return value, at


def term(tokens, at):
    value, at = factor(tokens, at)
    while tokens[at] in "*/":
        op = tokens[at]
        right, at = factor(tokens, at + 1)
        value = value * right if op == "*" else value / right
    return value, at


def factor(tokens, at):
    token = tokens[at]
    if token == "(":
        value, at = expression(tokens, at + 1)
        if tokens[at] != ")":
            raise SyntaxError
        return value, at + 1
    if token == "-":
        value, at = factor(tokens, at + 1)
        return -value, at
    if not token.isdigit():
        raise SyntaxError
    return Fraction(int(token)), at + 1


def right(raw, numbers):
    found = MARKER.findall(raw)
    if not found:
        return False
    text = CUT.split(found[-1], 1)[0].strip()
    if not text or ILLEGAL.search(text):
        return False
    tokens = TOKENS.findall(text)
    if sorted(int(t) for t in tokens if t.isdigit()) != sorted(map(int, numbers.split())):
        return False
    tokens.append("$")
    try:
        value, at = expression(tokens, 0)
    except (SyntaxError, ZeroDivisionError):
        return False
    return tokens[at] == "$" and value == 24


total = solved = 0
with open(sys.argv[1], encoding="utf-8") as lines:
    for line in lines:
        row = json.loads(line)
        total += 1
        solved += right(row["raw"], row[sys.argv[2]])
print(total, solved)
