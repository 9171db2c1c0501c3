"""Forty ideas for a town, by subject, and sixteen mottoes, short enough to compare on a phone: for the demo."""

# Within each subject from what the simulated crowd likes most to what it likes least.
IDEAS: dict[str, list[str]] = {
    "Getting around": [
        "Build one cycle path that goes all the way across town, rather than ten that end nowhere.",
        "Give everyone under eighteen a free bus pass.",
        "Run the last bus at one in the morning, not at ten in the evening.",
        "Close the streets around schools to cars for half an hour each morning and afternoon.",
        "Lower the speed limit to 30 km/h on every street with houses.",
        "Let people book a small shared bus by phone where no line goes.",
        "Put a bench every two hundred metres on the way to the station.",
        "Make the main street a place for walking on Saturdays, and see whether the shops like it.",
    ],
    "Green and quiet": [
        "Plant a thousand trees, and begin in the streets that have none.",
        "Turn the car park by the river into a meadow with a place to swim.",
        "Set drinking fountains on all squares, so that nobody has to buy water.",
        "Cover the roof of every public building with solar panels before 2035.",
        "Lend out garden plots for five years at a time to whoever is next on the list.",
        "Let the grass on the roundabouts grow, and mow it twice a year.",
        "Switch off every second street light between midnight and five.",
        "Forbid leaf blowers.",
    ],
    "Living together": [
        "Keep the library open on Sundays, run by volunteers if need be.",
        "Build a youth club that is planned by those who will use it.",
        "Found a repair café where people mend each other's toasters and trousers.",
        "Open the school yards as playgrounds at weekends.",
        "Offer free language evenings in which newcomers and neighbours teach each other.",
        "Let an empty shop be used by a club or an artist for the cost of its heating.",
        "Hold one long table through the old town each summer, at which everyone may eat.",
        "Pay a caretaker for each quarter who knows the people and has a key to everything.",
    ],
    "Money and work": [
        "Buy the town's food for schools and hospitals from farms within fifty kilometres.",
        "Build flats on the old barracks and sell none of them: rent them out at cost.",
        "Publish each invoice above a thousand euros that the town has paid.",
        "Let residents decide by vote how one percent of the budget is spent.",
        "Train ten apprentices a year in the town's own workshops.",
        "Give new shops in the centre half a year without rent.",
        "Take a euro a night from every hotel guest and spend it on the parks.",
        "Raise the parking fee in the centre and lower the bus fare by as much.",
    ],
    "Small things": [
        "Build one public toilet that is clean and open at all hours.",
        "Lend tools like the library lends books: one drill is enough for a street.",
        "Answer every letter to the town hall within ten days.",
        "Hang a box in every quarter where people leave and take books.",
        "Paint the crossings in front of the schools anew each summer, by the pupils.",
        "Put up a clock that is right.",
        "Ring the bells only from eight in the morning.",
        "Number the benches, so that one can say where one is waiting.",
    ],
}

# For the project whose annotators rank four at a time.
MOTTOES = [
    "Where the river takes its time",
    "Small enough to know you",
    "Old walls, new ideas",
    "Come for the day, stay for the people",
    "Made by many hands",
    "Room to breathe",
    "The town that listens",
    "Everything within a walk",
    "Rooted and open",
    "Bridges since 1284",
    "Good bread, good neighbours",
    "Quietly different",
    "Halfway to everywhere",
    "A square for everyone",
    "Tomorrow starts on the high street",
    "Better than you remember",
]


def likes() -> dict[str, float]:
    """Return what all of the simulated crowd agree on, in logits, by item key: from 2 to -2 within each subject."""
    keys = iter(range(1, 1 + sum(map(len, IDEAS.values()))))
    return {
        item_key(next(keys)): 2 - 4 * place / (len(texts) - 1)
        for texts in IDEAS.values()
        for place in range(len(texts))
    }


def item_key(number: int) -> str:
    return f"idea-{number:02d}"


# What the simulated judges say about a poster.
REMARKS = [
    "It can be read from across the street.",
    "The colours carry it.",
    "A clear idea, and nothing too much.",
    "I looked at it longer than at the others.",
    "Well balanced, but a little quiet.",
    "Too many things at once.",
    "The shapes repeat without a reason.",
    "I would have stopped for this one.",
    "The contrast is too weak from a distance.",
]
