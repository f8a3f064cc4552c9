"""Counting by the table's stream: the maintenance mode *stream*, for tables of several programs.

A follower (``stats follow``) or a Lambda function reads the stream and changes the counters of
comments. In this mode, the servers' writes change no counters.

Items: ``STREAM#<stream>`` / ``SHARD#<shard>`` and ``WATERMARK`` (checkpoints),
``EVENT#<stream>#<event>`` (applied records), and ``CANARY#…`` during a rebuild.

Composition: ``dal.composition`` (kind of items, counting mode, sentence of ``table describe``),
``server.cli.main`` (``stats follow``).
"""
