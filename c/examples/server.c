/*
 * In a server of models: a slot per request, which gets the pieces of the reply as tokens are
 * decoded, and writes the frames of a chat completion. It takes the place of a search for
 * "</think>" in the text so far. Only this file knows of Sotto.
 *
 *     cc -o server server.c -I../dist -L../dist -lsotto && LD_LIBRARY_PATH=../dist ./server
 */
#include <stdio.h>
#include <string.h>

#include "sotto.h"

typedef struct slot {
	sotto_stream *stream;
	int index;
} slot;

/* One reader per model, made when the model is loaded; its prompt template opens the block. */
static sotto_reader *reader;

/* Writes a text as a JSON string. */
static void json(const sotto_text *t) {
	putchar('"');
	for (size_t i = 0; i < t->size; i++) {
		unsigned char c = (unsigned char)t->data[i];
		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void frames(const slot *s, const sotto_deltas *deltas) {
	for (size_t i = 0; i < deltas->count; i++) {
		const sotto_delta *d = &deltas->list[i];
		const char *member = d->kind == SOTTO_DELTA_TEXT ? "content" : d->kind == SOTTO_DELTA_REASONING ? "reasoning_content" : NULL;
		if (!member) continue; /* a server with tools reads SOTTO_DELTA_TOOL, too */
		printf("data: {\"choices\":[{\"index\":%d,\"delta\":{\"%s\":", s->index, member);
		json(&d->text);
		printf("}}]}\n\n");
	}
}

/* on_piece is what the loop that decodes tokens calls. */
static bool on_piece(slot *s, const char *piece, size_t size) {
	sotto_deltas deltas;
	if (!sotto_feed(s->stream, piece, size, &deltas, NULL)) return false;
	frames(s, &deltas);
	return true;
}

/* on_end is called when the reply is over: by its end token, or by the limit of length. */
static bool on_end(slot *s, bool limit) {
	sotto_deltas deltas;
	if (!sotto_close(s->stream, limit ? SOTTO_CUT : SOTTO_STOPPED, &deltas, NULL)) return false;
	frames(s, &deltas);
	printf("data: {\"choices\":[{\"index\":%d,\"delta\":{},\"finish_reason\":\"%s\"}]}\n\n", s->index, limit ? "length" : "stop");
	sotto_reset(s->stream); /* the slot is ready for the next request */
	return true;
}

int main(void) {
	sotto_error error;
	reader = sotto_reader_new("{\"model\":\"qwen3-thinking\",\"start\":\"inside\"}", &error);
	slot s = {reader ? sotto_stream_new(reader, &error) : NULL, 0};
	if (!s.stream) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	const char *pieces[] = {"6 \xc3\x97", " 7", "</thi", "nk>", "\n\nForty", "-\"two\"."};
	bool ok = true;
	for (int request = 0; request < 2; request++) {
		for (size_t i = 0; ok && i < sizeof pieces / sizeof *pieces; i++)
			ok = on_piece(&s, pieces[i], strlen(pieces[i]));
		ok = ok && on_end(&s, false);
	}
	sotto_stream_free(s.stream);
	sotto_reader_free(reader);
	return ok ? 0 : 1;
}
