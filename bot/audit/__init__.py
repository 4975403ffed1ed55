"""The audit trail's pure part: what is recorded, how rows are chained, and how a chain is proved.

`records` says what is written down, `derived` makes it from journal entries, `chain` seals rows,
`verify` finds what was changed. The rows are kept by `bot.storage.audit`.
"""
