"""Python's integers in a native loop: products and sums leave it where 64 bits end."""


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


ARGUMENTS = (27,)
BRANCHES = (3, 11)
