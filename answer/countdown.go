package answer

// Countdown asks for an expression with the problem's own target value. The
// problem's Input holds the numbers and its Gold the value. Or the Input is the
// question ("Using the numbers [19, 36, 55], make 72"). Or either of them is
// {"numbers": [19, 36, 55], "target": 72}.
var Countdown Task = &game{
	name: "countdown", title: "Countdown",
	form: Form{Rules: "countdown/4", Scan: true, Stops: gameStops},
}
