/*
 * libsotto separates what a language model thinks from what it says, in a whole reply or
 * while it streams in. It is the reader of the Go library, as a shared library for C.
 *
 * A reader holds options, and may be used by any number of threads at once. A stream reads
 * one reply, and belongs to one thread at a time; different streams are independent.
 *
 * Texts that go in are any bytes; the library keeps none of them after the call. Texts that
 * come out are bytes of the reply, and a zero byte that does not count follows each. What a
 * function returns as a pointer is the caller's, until the caller gives it back to the
 * function that its comment names. What a stream gives is the stream's: it is good until the
 * next call with that stream.
 *
 * A function that fails returns NULL or false, and writes what was wrong to the error, unless
 * that is NULL. The library never ends the process, and writes nothing.
 *
 * The library starts the threads of Go's runtime when it is loaded. A child that fork makes
 * must not call it, unless it calls exec first.
 */
#ifndef SOTTO_H
#define SOTTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sotto_reader sotto_reader;
typedef struct sotto_stream sotto_stream;

/* What was wrong, for people. */
typedef struct sotto_error {
	char text[512];
} sotto_error;

/* How a reply ended, by the finish reason of its server. SOTTO_UNKNOWN is always safe. */
typedef enum sotto_ending {
	SOTTO_UNKNOWN = 0,
	SOTTO_STOPPED = 1, /* the model was done */
	SOTTO_CUT = 2,     /* a limit of length */
	SOTTO_ABORTED = 3  /* the connection or the user */
} sotto_ending;

/* What a byte of a reply is. */
typedef enum sotto_channel {
	SOTTO_TEXT = 0,
	SOTTO_REASONING = 1,
	SOTTO_NARRATION = 2, /* progress for the user */
	SOTTO_TOOL = 3,      /* a call in the text */
	SOTTO_ASIDE = 4,     /* text that an output block makes redundant */
	SOTTO_MARKUP = 5     /* markers */
} sotto_channel;

typedef struct sotto_text {
	const char *data;
	size_t size; /* in bytes */
} sotto_text;

/* A longest run of the reply on one channel, in one block. */
typedef struct sotto_segment {
	uint32_t channel; /* a sotto_channel */
	uint32_t block;   /* 0 outside of blocks */
	size_t start, end; /* in bytes of the reply; the end is not part of it */
} sotto_segment;

/* A remark on the reading, such as an end without a beginning. */
typedef struct sotto_diagnostic {
	sotto_text code, reason;
	size_t offset; /* of the marker that it is about, in bytes of the reply */
} sotto_diagnostic;

/* The reading of a whole reply. */
typedef struct sotto_reply {
	sotto_text visible; /* what the user sees */
	const sotto_text *reasoning; /* the thoughts, one text per block */
	size_t reasoning_count;
	const sotto_text *narration;
	size_t narration_count;
	const sotto_segment *segments;
	size_t segment_count;
	const sotto_diagnostic *diagnostics;
	size_t diagnostic_count;
	size_t more_diagnostics; /* that are counted only */
	sotto_text dialect, start; /* as which the reply was read */
} sotto_reply;

/* What a delta is. */
typedef enum sotto_kind {
	SOTTO_DELTA_TEXT = 0,            /* visible text */
	SOTTO_DELTA_REASONING = 1,       /* reasoning as it comes */
	SOTTO_DELTA_REASONING_END = 2,   /* a block of reasoning has closed; it has no text */
	SOTTO_DELTA_REASONING_BREAK = 3, /* the reply ended in a block of reasoning; it has no text */
	SOTTO_DELTA_NARRATION = 4,
	SOTTO_DELTA_TOOL = 5 /* a call in the text, with its markers */
} sotto_kind;

typedef struct sotto_delta {
	uint32_t kind; /* a sotto_kind */
	uint32_t block; /* 0 for visible text */
	sotto_text text;
} sotto_delta;

/* What one call with a stream gives, in the order of the reply. */
typedef struct sotto_deltas {
	const sotto_delta *list;
	size_t count;
	const sotto_diagnostic *diagnostics; /* of the whole reply, from sotto_close */
	size_t diagnostic_count;
	size_t more_diagnostics; /* that are counted only */
} sotto_deltas;

#ifndef SOTTO_TYPES_ONLY

/* The version of the library. It is never freed. */
const char *sotto_version(void);

/*
 * sotto_reader_new makes a reader. The options are a JSON object, or NULL for none:
 *
 *     {"model": "qwen3:8b", "start": "inside", "tools": ["search"]}
 *
 * model     the name of the model, as a provider or a registry spells it
 * dialect   the name of a dialect that comes with Sotto, or a dialect of your own as an object
 *           with the keys of a dialect file; it counts more than the model
 * start     where the reply begins: outside, inside, inside:NAME or auto; else the dialect says
 * inline    channels that are part of the text: a list of "narration" and "tool"
 * max_hold  the longest text that is held in doubt, in bytes; negative for no bound
 * tools     the names of the tools that the request declares
 *
 * Give it to sotto_reader_free. Streams that are open stay usable.
 */
sotto_reader *sotto_reader_new(const char *options, sotto_error *error);
void sotto_reader_free(sotto_reader *reader);

/* sotto_parse reads a whole reply. Give the result to sotto_free. */
sotto_reply *sotto_parse(const sotto_reader *reader, const char *reply, size_t size, sotto_ending end, sotto_error *error);

/* sotto_parse_json is sotto_parse for programs that read JSON faster than structures. The keys
 * are those of "sotto split --json". Give the result to sotto_free. */
sotto_text *sotto_parse_json(const sotto_reader *reader, const char *reply, size_t size, sotto_ending end, sotto_error *error);

/*
 * sotto_parse_many reads count replies that ended alike, and gives as many readings, one behind
 * the other: those that sotto_parse gives of each.
 *
 * The readings and all that they refer to are one piece of memory. Its size is written to size,
 * unless that is NULL, for a caller that copies it. In it the visible texts lie one behind the
 * other, and after them likewise all thoughts, and all narration. Give the first reading to
 * sotto_free, which frees all.
 */
sotto_reply *sotto_parse_many(const sotto_reader *reader, const sotto_text *replies, size_t count, sotto_ending end, size_t *size, sotto_error *error);

/* sotto_strip gives the visible text of count replies, for history and memory: as many texts
 * as there are replies. They lie one behind the other in memory. Give the result to
 * sotto_free. */
sotto_text *sotto_strip(const sotto_reader *reader, const sotto_text *replies, size_t count, sotto_error *error);

/*
 * sotto_next_request gives the body of a request as it should go to the model that it names:
 * without the earlier reasoning that this family of models does not need back, and with what its
 * provider requires. The API is chat (chat completions, also for NULL), responses, messages, ollama, gemini,
 * cohere or bedrock. The APIs gemini and bedrock have the model in the path: put it into the body, as
 * model or modelId. Every byte that need not change stays. Give the result to sotto_free.
 */
sotto_text *sotto_next_request(const char *api, const char *body, size_t size, sotto_error *error);

/* sotto_free frees what the functions before it gave, with all of its texts. */
void sotto_free(void *result);

/* sotto_stream_new begins the reading of a reply that streams in. Give it to sotto_stream_free. */
sotto_stream *sotto_stream_new(const sotto_reader *reader, sotto_error *error);
void sotto_stream_free(sotto_stream *stream);

/* sotto_feed reads a part of the reply, cut anywhere, also within a character. */
bool sotto_feed(sotto_stream *stream, const char *data, size_t size, sotto_deltas *out, sotto_error *error);

/* sotto_close ends the reply. The stream reads another reply after sotto_reset. */
bool sotto_close(sotto_stream *stream, sotto_ending end, sotto_deltas *out, sotto_error *error);
void sotto_reset(sotto_stream *stream);

#endif /* SOTTO_TYPES_ONLY */

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_H */
