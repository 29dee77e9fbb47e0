package agent

// atPoint, which only tests set, is called at every place where a crash must be
// survived: after each step, and before and after each effect.
var atPoint func(name string)

func point(name string) {
	if atPoint != nil {
		atPoint(name)
	}
}
