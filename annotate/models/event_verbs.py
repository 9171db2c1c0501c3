"""The registry of logged events: what each is called in the database, in the log's filter, and as a sentence."""

from enum import StrEnum
from typing import Self

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy


class EventVerb(StrEnum):
    """What happened. To log a new event, add one row: verb, name in the log's filter, sentence about its actor.

    Sentences name details of the event, and %(annotator)s; those that count have a singular, too.
    Verbs without a sentence are not shown to owners.
    """

    name_in_filter: str | Promise
    sentence: str | Promise

    def __new__(cls, verb: str, name_in_filter: str | Promise = "", sentence: str | Promise = "") -> Self:
        member = str.__new__(cls, verb)
        member._value_ = verb
        member.name_in_filter, member.sentence = name_in_filter, sentence
        return member

    PROJECT_CREATED = "project created", _("Project: created"), _("created the project")
    PROJECT_OPENED = "project opened", _("Project: opened"), _("opened the project")
    PROJECT_PAUSED = "project paused", _("Project: paused"), _("paused the project")
    PROJECT_PAUSED_AT_GOAL = (
        "project paused at goal",
        _("Project: paused because its goal was met"),
        _("paused the project because its goal was met after %(labels)s answers"),
    )
    PROJECT_RESUMED = "project resumed", _("Project: resumed"), _("resumed the project")
    PROJECT_CLOSED = "project closed", _("Project: closed"), _("closed the project")
    PROJECT_REOPENED = "project reopened", _("Project: reopened"), _("reopened the project")
    PROJECT_ARCHIVED = "project archived", _("Project: archived"), _("archived the project")
    PROJECT_BROUGHT_BACK = (
        "project brought back",
        _("Project: restored from the archive"),
        _("restored the project from the archive"),
    )
    PROJECT_CLONED = "project cloned", _("Project: duplicated"), _("duplicated the project as “%(clone)s”")
    PROJECT_MADE_AS_A_CLONE = (
        "project made as a clone",
        _("Project: created as a duplicate"),
        _("created this project as a duplicate of “%(source)s”"),
    )
    SETTINGS_CHANGED = "settings changed", _("Settings"), _("changed %(changes)s")
    PLAN_FROZEN = (
        "plan frozen",
        _("Preregistration: frozen"),
        _("froze the plan as a preregistration (SHA-256 %(digest)s)"),
    )
    DEVIATION_EXPLAINED = (
        "deviation explained",
        _("Preregistration: reason given"),
        _("gave the reason of a deviation from the preregistration (%(field)s)"),
    )
    ENTRY_CHANGED = "entry changed", _("Who may take part"), _("changed who may take part: %(fields)s")
    FIELDS_CHANGED = "fields changed", _("Questionnaire"), _("changed the questionnaire")
    PLATFORM_LINK_REPLACED = (
        "platform link replaced",
        _("Link: platform link replaced"),
        _("replaced the platform link"),
    )
    ANNOTATORS_INVITED = (
        "annotators invited",
        _("Annotators: invited"),
        ngettext_lazy(
            "invited %(sent)s person by e-mail to take part", "invited %(sent)s people by e-mail to take part", "sent"
        ),
    )
    ANNOTATORS_REMINDED = (
        "annotators reminded",
        _("Annotators: reminded"),
        ngettext_lazy(
            "reminded %(sent)s person by e-mail who has not finished",
            "reminded %(sent)s people by e-mail who have not finished",
            "sent",
        ),
    )
    CODE_USED = "code used", _("Annotators: code used"), _("marked the code %(code)s as used")
    JOIN_LINK_REPLACED = "join link replaced", _("Link: join link replaced"), _("replaced the join link")
    PERSONAL_LINK_ASKED = (
        "personal link asked",
        _("Annotators: personal link asked for"),
        _("was asked on the join page for a personal link, which was sent to the address known for the name"),
    )
    SHORT_ADDRESS_ON = (
        "short address on",
        _("Link: short address switched on"),
        _("switched the short address on"),
    )
    SHORT_ADDRESS_OFF = (
        "short address off",
        _("Link: short address switched off"),
        _("switched the short address off"),
    )
    ITEMS_IMPORTED = (
        "items imported",
        _("Items: imported"),
        ngettext_lazy("imported %(items)s item (%(source)s)", "imported %(items)s items (%(source)s)", "items"),
    )
    COMPARISONS_IMPORTED = (
        "comparisons imported",
        _("Labels: imported"),
        ngettext_lazy(
            "imported %(labels)s label (%(source)s, rows: %(rows)s)%(refusals)s",
            "imported %(labels)s labels (%(source)s, rows: %(rows)s)%(refusals)s",
            "labels",
        ),
    )
    COUNTS_IMPORTED = (
        "counts imported",
        _("Counts: imported"),
        ngettext_lazy(
            "imported %(counts)s count (%(source)s, rows: %(rows)s)",
            "imported %(counts)s counts (%(source)s, rows: %(rows)s)",
            "counts",
        ),
    )
    IMPORT_ASKED_FOR = "import asked for", _("Imports: uploaded"), _("uploaded “%(source)s” for import")
    IMPORT_WENT_ON = "import went on", _("Imports: resumed"), _("resumed the import of “%(source)s”")
    IMPORT_STOPPED = (
        "import stopped",
        _("Imports: stopped"),
        _("stopped the import of “%(source)s” after %(written)s rows"),
    )
    FEATURES_IMPORTED = (
        "features imported",
        _("Items: features imported"),
        ngettext_lazy(
            "imported features of %(items)s item (%(source)s)",
            "imported features of %(items)s items (%(source)s)",
            "items",
        ),
    )
    ANNOTATOR_FEATURES_IMPORTED = (
        "annotators' features imported",
        _("Annotators: features imported"),
        ngettext_lazy(
            "imported features of %(annotators)s annotator (%(source)s)",
            "imported features of %(annotators)s annotators (%(source)s)",
            "annotators",
        ),
    )
    ITEM_RETIRED = "item retired", _("Items: retired"), _("retired the item “%(key)s”")
    ITEM_BROUGHT_BACK = "item brought back", _("Items: restored"), _("restored the item “%(key)s”")
    WEBHOOK_ADDED = "webhook added", _("Webhooks: added"), _("added the webhook %(url)s")
    WEBHOOK_REMOVED = "webhook removed", _("Webhooks: removed"), _("removed the webhook %(url)s")
    WEBHOOK_SWITCHED_ON = "webhook switched on", _("Webhooks: switched on"), _("switched on the webhook %(url)s")
    WEBHOOK_SWITCHED_OFF = "webhook switched off", _("Webhooks: switched off"), _("switched off the webhook %(url)s")
    WEBHOOK_SECRET_REPLACED = (
        "webhook's secret replaced",
        _("Webhooks: secret replaced"),
        _("replaced the secret of the webhook %(url)s"),
    )
    ITEM_TAGS_CHANGED = (
        "item's tags changed",
        _("Items: tags changed"),
        _("changed the tags of the item “%(key)s” (%(tags)s)"),
    )
    ITEM_TITLE_CHANGED = (
        "item's title changed",
        _("Items: title changed"),
        _("changed the title of the item “%(key)s”"),
    )
    ITEM_METADATA_CHANGED = (
        "item's metadata changed",
        _("Items: metadata changed"),
        _("changed the metadata of the item “%(key)s”"),
    )
    COMPETITOR_CHANGED = (
        "item's competitor changed",
        _("Items: competitor changed"),
        _("changed the competitor of the item “%(key)s”"),
    )
    COMPETITORS_CHANGED = (
        "items' competitor changed",
        _("Items: competitor of many changed"),
        ngettext_lazy("changed the competitor of %(items)s item", "changed the competitor of %(items)s items", "items"),
    )
    ITEMS_TAGGED = (
        "items tagged",
        _("Items: tags added to many"),
        ngettext_lazy("tagged %(items)s item: %(tags)s", "tagged %(items)s items: %(tags)s", "items"),
    )
    ITEMS_UNTAGGED = (
        "items untagged",
        _("Items: tags removed from many"),
        ngettext_lazy(
            "removed tags from %(items)s item: %(tags)s", "removed tags from %(items)s items: %(tags)s", "items"
        ),
    )
    ITEMS_RETIRED = (
        "items retired",
        _("Items: many retired"),
        ngettext_lazy("retired %(items)s item", "retired %(items)s items", "items"),
    )
    ITEMS_BROUGHT_BACK = (
        "items brought back",
        _("Items: many restored"),
        ngettext_lazy("restored %(items)s item", "restored %(items)s items", "items"),
    )
    IDEA_APPROVED = (
        "idea approved",
        _("Ideas: approved"),
        _("approved an idea of %(annotator)s as the item “%(key)s”"),
    )
    IDEA_APPROVED_AT_ONCE = (
        "idea approved at once",
        _("Ideas: approved at once"),
        _("added an idea, approved at once as the item “%(key)s”"),
    )
    IDEA_MERGED = (
        "idea merged",
        _("Ideas: merged"),
        _("merged an idea of %(annotator)s into the item “%(key)s”"),
    )
    IDEA_REFUSED = (
        "idea refused",
        _("Ideas: refused"),
        _("refused an idea of %(annotator)s: %(reason)s"),
    )
    SITES_CHANGED = (
        "embedding sites changed",
        _("Embedding: sites changed"),
        _("changed the embedding sites (%(origins)s)"),
    )
    LANGUAGES_CHANGED = (
        "languages changed",
        _("Languages: changed"),
        _("changed the languages of the project (%(language)s; further: %(languages)s)"),
    )
    WORDS_TRANSLATED = "words translated", _("Languages: words translated"), _("changed the words in “%(language)s”")
    ITEMS_TRANSLATED = (
        "items translated",
        _("Languages: items translated"),
        _("changed %(items)s items in “%(language)s”"),
    )
    CAPTIONS_CHANGED = "captions changed", _("Items: captions changed"), _("changed the captions of “%(key)s”")
    ITEM_DELETED = "item deleted", _("Items: deleted"), _("deleted the item “%(key)s”")
    EXPORT_TAKEN = "export taken", _("Exports: downloaded"), _("exported %(table)s (%(file_format)s)")
    ACCESS_TOKEN_MADE = (
        "access token made",
        _("Access tokens: created"),
        _("created the access token “%(name)s” (%(scopes)s), which can use this project"),
    )
    ACCESS_TOKEN_REVOKED = "access token revoked", _("Access tokens: revoked"), _("revoked the access token “%(name)s”")
    RESULTS_LINK_MADE = (
        "results link made",
        _("Link: results link created"),
        _("published the ranking with the results link %(link)s"),
    )
    RESULTS_LINK_REVOKED = (
        "results link revoked",
        _("Link: results link revoked"),
        _("revoked the results link %(link)s"),
    )
    COMMENT_HIDDEN = ("comment hidden", _("Comments: hidden"), _("hid a comment on the item “%(key)s”"))
    COMMENT_SHOWN = ("comment shown", _("Comments: no longer hidden"), _("no longer hides a comment on “%(key)s”"))
    COMMENTS_RELEASED = (
        "comments released",
        _("Comments: released"),
        _("released %(comments)s comments to entrants (tag: %(tag)s)"),
    )
    COMMENTS_WITHDRAWN = (
        "comments withdrawn",
        _("Comments: release withdrawn"),
        _("withdrew %(comments)s comments from entrants (tag: %(tag)s)"),
    )
    ENTRY_LINKS_MADE = (
        "entry links made",
        _("Link: entry links created"),
        ngettext_lazy("created %(links)s entry link", "created %(links)s entry links", "links"),
    )
    ENTRY_LINK_REVOKED = (
        "entry link revoked",
        _("Link: entry link revoked"),
        _("revoked the entry link of “%(key)s”"),
    )
    RESULTS_NAMES_REVEALED = (
        "results names revealed",
        _("Link: names revealed"),
        _("revealed the names on the results link %(link)s"),
    )
    RESULTS_NAMES_HIDDEN = (
        "results names hidden",
        _("Link: names hidden"),
        _("hid the names on the results link %(link)s"),
    )
    RESULTS_DEADLINE_SET = (
        "results deadline set",
        _("Link: deadline set"),
        _("set the deadline on the results link %(link)s (%(deadline)s)"),
    )
    RUN_RECORD_ASKED_FOR = "run record asked for", _("Exports: run record requested"), _("requested a run record")
    COHORTS_COMPARED = "cohorts compared", _("Cohorts: compared"), _("compared two cohorts")
    MACHINE_ADDED = (
        "machine added",
        _("Machines: added"),
        _("added the machine %(annotator)s (%(program)s)"),
    )
    MACHINE_EXCLUDED = "machine excluded", _("Machines: excluded"), _("excluded the machine %(annotator)s")
    MACHINE_READMITTED = "machine readmitted", _("Machines: readmitted"), _("readmitted the machine %(annotator)s")
    MACHINE_REMOVED = (
        "machine removed",
        _("Machines: removed"),
        _("removed the machine “%(name)s” with %(answers)s answers"),
    )
    MACHINES_REPORTED = (
        "machines reported",
        _("Machines: report requested"),
        _("requested a report on the machines"),
    )
    MEMBER_INVITED = "member invited", _("Members: invited"), _("invited %(address)s")
    INVITATION_WITHDRAWN = (
        "invitation withdrawn",
        _("Members: invitation withdrawn"),
        _("withdrew the invitation of %(address)s"),
    )
    MEMBER_JOINED = "member joined", _("Members: joined"), _("joined by an invitation (%(role)s)")
    MEMBER_ADDED = "member added", _("Members: added"), _("added %(member)s (%(role)s)")
    MEMBER_ROLE_CHANGED = (
        "member's role changed",
        _("Members: role changed"),
        _("changed the role of %(member)s (%(role)s)"),
    )
    MEMBER_REMOVED = "member removed", _("Members: removed"), _("removed %(member)s (%(role)s)")
    ANNOTATOR_EXCLUDED = (
        "annotator excluded",
        _("Annotators: excluded"),
        ngettext_lazy(
            "excluded %(annotator)s; %(labels)s label voided. %(reason)s",
            "excluded %(annotator)s; %(labels)s labels voided. %(reason)s",
            "labels",
        ),
    )
    OTHER_BROWSER_REFUSED = (
        "other browser refused",
        _("Annotators: another browser turned away"),
        _("came with the participant ID of %(annotator)s in another browser and was turned away"),
    )
    BULK_EXCLUDED = (
        "answers excluded in bulk",
        _("Annotators: many answers excluded"),
        _("excluded %(labels)s answers of %(annotators)s people (%(chosen)s). %(reason)s"),
    )
    BULK_EXCLUSION_UNDONE = (
        "bulk exclusion undone",
        _("Annotators: exclusion of many answers undone"),
        _("undid an exclusion of %(n)s answers; %(restored)s count again, %(kept_voided)s stay void"),
    )
    SEEN_AS_AN_ANNOTATOR = (
        "seen as an annotator",
        _("Annotators: viewed as an annotator"),
        _("viewed the project as %(annotator)s"),
    )
    ANNOTATOR_ERASED = (
        "annotator erased",
        _("Annotators: erased"),
        ngettext_lazy(
            "permanently erased an annotator and %(labels)s label",
            "permanently erased an annotator and %(labels)s labels",
            "labels",
        ),
    )
    RETENTION_CHANGED = (
        "retention changed",
        _("Data protection: retention changed"),
        _("changed how long annotators' data are kept (%(days)s)"),
    )
    RETENTION_APPLIED = (
        "retention applied",
        _("Data protection: names erased"),
        _("erased the names of %(annotators)s annotators at the end of the retention period"),
    )
    QUESTIONS_ADDED = (
        "questions added",
        _("Given questions: added"),
        _("added %(questions)s given questions; %(merged)s were there already (%(source)s)"),
    )
    QUESTIONS_CHANGED = (
        "questions changed",
        _("Given questions: priority changed"),
        _("gave %(questions)s given questions the priority %(priority)s"),
    )
    QUESTIONS_WITHDRAWN = (
        "questions withdrawn",
        _("Given questions: withdrawn"),
        _("withdrew %(questions)s given questions"),
    )
    QUESTIONS_ASKED_AGAIN = (
        "questions asked again",
        _("Given questions: asked again"),
        _("had %(questions)s withdrawn questions asked again"),
    )
    QUESTIONS_DROPPED = (
        "questions dropped",
        _("Given questions: drawn instead"),
        _("withdrew all %(questions)s given questions, so that questions are drawn"),
    )
    RIGHT_ANSWERS_ADDED = (
        "right answers added",
        _("Right answers: added"),
        _("added %(sets)s sets with a right answer (%(purposes)s)"),
    )
    RIGHT_ANSWER_CHANGED = (
        "right answer changed",
        _("Right answers: feedback changed"),
        _("changed the feedback after a practice task (%(purpose)s)"),
    )
    RIGHT_ANSWER_REMOVED = (
        "right answer removed",
        _("Right answers: removed"),
        _("removed a set with a right answer (%(purpose)s)"),
    )
    PEOPLE_EXPECTED = (
        "people expected",
        _("People you expect: added"),
        ngettext_lazy(
            "put %(people)s person on the list of those expected",
            "put %(people)s people on the list of those expected",
            "people",
        ),
    )
    COURSE_CONNECTED = (
        "course connected",
        _("Courses: connected"),
        _("connected the course “%(course)s” of %(platform)s"),
    )
    COURSE_DISCONNECTED = (
        "course disconnected",
        _("Courses: disconnected"),
        _("disconnected the course “%(course)s” of %(platform)s"),
    )
    EXPECTED_PERSON_REMOVED = (
        "expected person removed",
        _("People you expect: removed"),
        _("took a person off the list of those expected"),
    )
    NEVER_SHOWN_ADDED = (
        "never shown added",
        _("Conflicts of interest: added"),
        _("added conflicts of interest (%(rows)s rows)"),
    )
    NEVER_SHOWN_REMOVED = (
        "never shown removed",
        _("Conflicts of interest: removed"),
        _("removed a conflict of interest of %(annotator)s"),
    )
    ITEM_KNOWN = (
        "item known",
        _("Conflicts of interest: said by annotators"),
        _("knows the item “%(item)s” and is not shown it again"),
    )
    ITEM_KNOWN_UNDONE = (
        "item known undone",
        _("Conflicts of interest: undone by annotators"),
        _("does not know the item “%(item)s” after all"),
    )
    ANNOTATOR_LET_IN = (
        "annotator let in",
        _("Annotators: admitted after practice"),
        _("admitted %(annotator)s, who had failed the practice"),
    )
    ANNOTATORS_TAGGED = (
        "annotators tagged",
        _("Annotators: tagged"),
        ngettext_lazy(
            "tagged %(annotators)s annotator: %(tags)s", "tagged %(annotators)s annotators: %(tags)s", "annotators"
        ),
    )
    ANNOTATORS_UNTAGGED = (
        "annotators untagged",
        _("Annotators: tags removed"),
        ngettext_lazy(
            "removed tags from %(annotators)s annotator: %(tags)s",
            "removed tags from %(annotators)s annotators: %(tags)s",
            "annotators",
        ),
    )
    ANNOTATOR_READMITTED = (
        "annotator readmitted",
        _("Annotators: readmitted"),
        _("readmitted %(annotator)s; %(restored)s labels count again, %(kept_voided)s stay void"),
    )
    JOB_STOPPED = "job stopped", _("Engine: job stopped"), _("gave up a job of this project. %(message)s")
    # Events of annotators themselves, and the mark after each chunk from which an interrupted import resumes.
    LABEL_UNDONE = "label undone"
    ANNOTATOR_SCREENED_OUT = "annotator screened out"
    COMPARISONS_STORED = "comparisons stored"

    @classmethod
    def parse(cls, verb: str) -> Self | None:
        """Return the member, or None for a verb that an earlier version stored and this one does not know."""
        return cls._value2member_map_.get(verb)  # type: ignore[return-value]
