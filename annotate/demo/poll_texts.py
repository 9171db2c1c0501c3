"""What the demo's poll asks about an old swimming pool, in English and German."""

GERMAN = {
    "name": "Was aus dem alten Freibad wird",
    "question": "Was soll aus dem alten Freibad werden?",
    "more_means": "besser",
    "instructions": "Immer zwei Vorschläge: Wähle den, den du lieber hättest.",
}
POOL = [
    ("Mend it and open it again.", "Reparieren und wieder öffnen."),
    ("Make a pond for swimming, cleaned by plants.", "Ein Badeteich, den Pflanzen sauber halten."),
    ("Build flats for families.", "Wohnungen für Familien bauen."),
    ("A skate park in the empty basins.", "Eine Skateanlage in den leeren Becken."),
    ("A park with large trees.", "Ein Park mit großen Bäumen."),
    ("Gardens that anybody can rent.", "Gärten, die alle mieten können."),
    ("An open-air stage.", "Eine Freilichtbühne."),
    ("A campsite for cyclists.", "Ein Zeltplatz für Radreisende."),
    ("A hall for climbing.", "Eine Kletterhalle."),
    ("A car park for the station.", "Ein Parkplatz für den Bahnhof."),
    ("A market hall.", "Eine Markthalle."),
    ("Leave it to frogs and birds.", "Den Fröschen und Vögeln überlassen."),
    ("A solar field.", "Ein Solarfeld."),
    ("A water playground for small children.", "Ein Wasserspielplatz für kleine Kinder."),
]
# Ideas of participants, with the translation of those that became items.
APPROVED = [
    ("A winter sauna beside the small basin.", "Eine Wintersauna neben dem kleinen Becken."),
    ("Open the lawn and the kiosk, without the water.", "Liegewiese und Kiosk öffnen, ohne das Wasser."),
    ("An ice rink in winter, a stage in summer.", "Im Winter eine Eisbahn, im Sommer eine Bühne."),
    ("Workshops for clubs in the changing rooms.", "Werkstätten für Vereine in den Umkleiden."),
    ("A fish farm run by the school.", "Eine Fischzucht, die die Schule betreibt."),
    ("A place to learn to ride a bicycle.", "Ein Platz, um Radfahren zu lernen."),
]
MERGED = [("Repair the pool and open it again!", "pool-01"), ("Plant big trees, make a park.", "pool-05")]
REFUSED = [("Ask my cousin, he has a digger.", "This is an offer, not a use. Please write to the town hall.")]
WAITING = [
    "A cinema under the open sky.",
    "A basin for model boats.",
    "Half of it gardens, half of it a playground.",
]
