/*
 * Reads a reply from the standard input as it comes. What the model says goes to the standard
 * output, and what it thinks to the standard error.
 *
 *     cc -o split split.c -I../dist -L../dist -lsotto
 *     printf '<think>6 x 7</think>Forty-two.\n' | LD_LIBRARY_PATH=../dist ./split '{"model":"qwen3:8b"}'
 */
#include <stdio.h>
#include <unistd.h>

#include "sotto.h"

static void print(const sotto_deltas *deltas) {
	for (size_t i = 0; i < deltas->count; i++) {
		const sotto_delta *d = &deltas->list[i];
		if (d->kind == SOTTO_DELTA_TEXT)
			fwrite(d->text.data, 1, d->text.size, stdout);
		else if (d->kind == SOTTO_DELTA_REASONING)
			fwrite(d->text.data, 1, d->text.size, stderr);
	}
	fflush(stdout);
}

int main(int argc, char **argv) {
	sotto_error error;
	sotto_reader *reader = sotto_reader_new(argc > 1 ? argv[1] : NULL, &error);
	sotto_stream *stream = reader ? sotto_stream_new(reader, &error) : NULL;
	sotto_reader_free(reader); /* the stream stays usable */
	sotto_deltas deltas;
	char chunk[4096];
	ssize_t n = 0;
	bool ok = stream != NULL;
	while (ok && (n = read(STDIN_FILENO, chunk, sizeof chunk)) > 0) {
		ok = sotto_feed(stream, chunk, (size_t)n, &deltas, &error);
		if (ok) print(&deltas);
	}
	if (ok && n < 0) perror("read");
	ok = ok && sotto_close(stream, n < 0 ? SOTTO_ABORTED : SOTTO_STOPPED, &deltas, &error);
	if (ok) {
		print(&deltas);
		for (size_t i = 0; i < deltas.diagnostic_count; i++)
			fprintf(stderr, "%s at byte %zu\n", deltas.diagnostics[i].code.data, deltas.diagnostics[i].offset);
	} else {
		fprintf(stderr, "%s\n", error.text);
	}
	sotto_stream_free(stream);
	return ok && n == 0 ? 0 : 1;
}
