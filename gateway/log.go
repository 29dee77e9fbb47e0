package gateway

func (x *exchange) log() {
	level := x.g.log.Info
	if x.ended == "failed" {
		level = x.g.log.Warn
	}
	fields := []any{
		"api", x.codec.Name(), "model", x.model, "dialect", x.family.dialect, "status", x.status,
		"outcome", x.ended, "stream", x.streamed, "ms", x.took.Milliseconds(),
		"bytes", x.reading.all, "reasoning", x.reading.reasoning, "start", string(x.reading.start),
	}
	if x.caller != "" {
		fields = append(fields, "caller", x.caller)
	}
	if found := x.findings(); found != "" {
		fields = append(fields, "found", found)
	}
	if x.plan.Removed > 0 || x.plan.Restored > 0 || x.g.config.HistoryDryRun {
		fields = append(fields, "history", x.plan.String(), "dry_run", x.g.config.HistoryDryRun)
	}
	if x.err != nil {
		fields = append(fields, "error", plain(x.err.Error()))
	}
	level("exchange", fields...)
}
