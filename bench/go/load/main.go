// Command load sends AdmissionReviews to a webhook on this machine over kept-alive TLS connections, checks every answer,
// and prints what it saw as one JSON object.
//
// Each connection sends one review after another and waits for each answer, as the API server does. Wherever a review holds
// the marker, a number is put that no other workload of the run has: no two are alike, however often the file is gone
// through. With -both each pod is created as the API server does it: /mutate, its patch applied, a name where the pod has
// none, /validate. It speaks HTTP/1.1, which the API server insists on for webhooks behind a Service. The requests are built before the clock starts, and the
// HTTP is written out here instead of left to net/http: a generator on one core must be cheaper than any server it loads.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

const (
	// Bounds of one run, whatever the flags say: this is a bench, not a weapon.
	maxConnections = 256
	maxRequests    = 1_000_000
	maxDuration    = 5 * time.Minute
	// The longest that the API server lets a webhook take (timeoutSeconds).
	answerTimeout = 30 * time.Second
	maxLineBytes  = 8 << 20
	// What is replaced by a number of as many digits (reviews.py).
	marker = "@SERIAL@"
)

// exchange is a request ready to be written but for its serial numbers, and the uid that its answer has to repeat.
type exchange struct {
	request    []byte
	serials    []int // offsets of the markers
	uid        string
	body       int // offsets of the body, and in the request of the pod and its end
	pod, after int
}

// suffix is what the API server adds to generateName; real ones differ, and nothing here reads them.
const suffix = "x7k2p"

// answer is what is checked of an AdmissionReview that comes back.
type answer struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Response   struct {
		UID       string   `json:"uid"`
		Allowed   bool     `json:"allowed"`
		Patch     []byte   `json:"patch"`
		PatchType string   `json:"patchType"`
		Warnings  []string `json:"warnings"`
	} `json:"response"`
}

// report is what one connection saw, and, summed up, all of them.
type report struct {
	Requests   int     `json:"requests"`
	Pods       int     `json:"pods"`
	Seconds    float64 `json:"seconds"`
	RPS        float64 `json:"rps"`
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
	Allowed    int     `json:"allowed"`
	Patched    int     `json:"patched"`
	Operations int     `json:"operations"`
	Warnings   int     `json:"warnings"`
	Errors     int     `json:"errors"`
	FirstError string  `json:"first_error"`
	CPUSeconds float64 `json:"generator_cpu_seconds"`
	latencies  []time.Duration
}

func main() {
	address := flag.String("address", "", "loopback `host:port` of the webhook")
	path := flag.String("path", "/mutate", "URL `path`")
	authority := flag.String("ca", "", "PEM `file` to verify the server with; empty verifies nothing")
	bodies := flag.String("bodies", "", "`file` of reviews, one JSON document a line")
	both := flag.Bool("both", false, "send each pod to /mutate and, with its patch, to /validate; -path is ignored")
	members := flag.Int("members", 1, "pods of a workload: so many reviews, one after another, have the same number")
	serial := flag.Int("serial", 0, "the first workload's `number`, put where "+marker+" stands")
	connections := flag.Int("connections", 25, "kept-alive connections; 25 is what the API server keeps to one webhook")
	requests := flag.Int("requests", 0, "stop after so many requests; 0 goes by -seconds alone")
	seconds := flag.Float64("seconds", 5, "stop after so long")
	flag.Parse()

	if *both {
		*path = "/mutate"
	}
	exchanges, err := load(*bodies, *address, *path)
	if err != nil {
		log.Fatal(err)
	}
	limit := maxRequests
	if *requests > 0 {
		limit = min(limit, *requests)
	}
	duration := min(time.Duration(*seconds*float64(time.Second)), maxDuration)
	links, err := connect(*address, *authority, min(*connections, maxConnections))
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(run(links, exchanges, plan{*serial, *members, limit, duration, *both, *address})); err != nil {
		log.Fatal(err)
	}
}

// load reads the reviews and writes out the request of each.
func load(file, address, path string) ([]exchange, error) {
	content, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	var exchanges []exchange
	lines := bufio.NewScanner(content)
	lines.Buffer(nil, maxLineBytes)
	for lines.Scan() {
		var review struct {
			Request struct {
				UID    string          `json:"uid"`
				Object json.RawMessage `json:"object"`
			} `json:"request"`
		}
		if err := json.Unmarshal(lines.Bytes(), &review); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, len(exchanges)+1, err)
		}
		built := request(lines.Bytes(), address, path)
		body := len(built) - len(lines.Bytes())
		pod := body + bytes.Index(lines.Bytes(), review.Request.Object)
		exchanges = append(exchanges, exchange{
			built, offsets(built), review.Request.UID, body, pod, pod + len(review.Request.Object),
		})
	}
	if len(exchanges) == 0 {
		return nil, fmt.Errorf("%s: got no reviews", file)
	}
	return exchanges, lines.Err()
}

// request is the bytes that kube-apiserver's client would send.
func request(body []byte, address, path string) []byte {
	head := fmt.Sprintf("POST %s?timeout=10s HTTP/1.1\r\nHost: %s\r\nUser-Agent: kube-apiserver-admission\r\n"+
		"Content-Length: %d\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\n"+
		"Accept-Encoding: gzip\r\n\r\n", path, address, len(body))
	return append([]byte(head), body...)
}

func offsets(request []byte) []int {
	var found []int
	for start := 0; ; {
		next := bytes.Index(request[start:], []byte(marker))
		if next < 0 {
			return found
		}
		found = append(found, start+next)
		start += next + len(marker)
	}
}

// numbered returns the request with its number, in the buffer.
func (next exchange) numbered(buffer []byte, number int) []byte {
	buffer = append(buffer[:0], next.request...)
	digits := fmt.Appendf(nil, "%0*d", len(marker), number)
	for _, offset := range next.serials {
		copy(buffer[offset:], digits)
	}
	return buffer
}

// validating returns the request of /validate for a numbered one of /mutate and its patch.
func (next exchange) validating(numbered, patch []byte, address string) ([]byte, error) {
	pod := numbered[next.pod:next.after]
	var named struct {
		Metadata struct{ Name, GenerateName string }
	}
	if err := json.Unmarshal(pod, &named); err != nil {
		return nil, err
	}
	var operations jsonpatch.Patch
	if len(patch) > 0 {
		if err := json.Unmarshal(patch, &operations); err != nil {
			return nil, err
		}
	}
	if named.Metadata.Name == "" {
		add := fmt.Sprintf(`[{"op":"add","path":"/metadata/name","value":"%s%s"}]`, named.Metadata.GenerateName, suffix)
		name, err := jsonpatch.DecodePatch([]byte(add))
		if err != nil {
			return nil, err
		}
		operations = append(operations, name...)
	}
	changed := pod
	if len(operations) > 0 {
		var err error
		if changed, err = operations.Apply(pod); err != nil {
			return nil, fmt.Errorf("patch: %w: %q", err, patch)
		}
	}
	body := slices.Concat(numbered[next.body:next.pod], changed, numbered[next.after:])
	return request(body, address, "/validate"), nil
}

// connect opens all connections, handshakes done, so that none is part of what is measured.
func connect(address, authority string, count int) ([]*tls.Conn, error) {
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if !resolved.IP.IsLoopback() {
		return nil, fmt.Errorf("-address: got %s, want a loopback address", address)
	}
	config, err := clientConfig(resolved, authority)
	if err != nil {
		return nil, err
	}
	links := make([]*tls.Conn, count)
	for place := range links {
		link, err := tls.Dial("tcp", address, config)
		if err != nil {
			return nil, err
		}
		links[place] = link
	}
	return links, nil
}

func clientConfig(server *net.TCPAddr, authority string) (*tls.Config, error) {
	config := &tls.Config{ServerName: server.IP.String(), NextProtos: []string{"http/1.1"}}
	if authority == "" {
		config.InsecureSkipVerify = true // loopback, checked above
		return config, nil
	}
	content, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s: got no certificate", authority)
	}
	return config, nil
}

// plan is what one run sends.
type plan struct {
	serial, members, limit int
	duration               time.Duration
	both                   bool
	address                string
}

// run loads the server until the limit or the time is reached and sums up.
func run(links []*tls.Conn, exchanges []exchange, plan plan) report {
	var next atomic.Int64
	reports := make([]report, len(links))
	cpuBefore := cpuSeconds()
	started := time.Now()
	deadline := started.Add(plan.duration)
	var group sync.WaitGroup
	for place, link := range links {
		group.Go(func() {
			defer link.Close()
			seen := &reports[place]
			reader := bufio.NewReaderSize(link, 64<<10)
			var buffer []byte
			for time.Now().Before(deadline) {
				turn := int(next.Add(1)) - 1
				if turn >= plan.limit {
					return
				}
				next := exchanges[turn%len(exchanges)]
				buffer = next.numbered(buffer, plan.serial+turn/plan.members)
				if err := seen.create(link, reader, next, buffer, plan); err != nil {
					seen.Errors++
					seen.FirstError = err.Error()
					return // the connection's state is unknown
				}
			}
		})
	}
	group.Wait()
	total := sum(reports)
	total.Seconds = time.Since(started).Seconds()
	total.RPS = float64(total.Requests) / total.Seconds
	total.CPUSeconds = cpuSeconds() - cpuBefore
	return total
}

// create sends one review, or both reviews of a pod that the first one admits.
func (seen *report) create(link *tls.Conn, reader *bufio.Reader, next exchange, numbered []byte, plan plan) error {
	patch, allowed, err := seen.exchange(link, reader, numbered, next.uid)
	seen.Pods++
	if err != nil || !plan.both || !allowed {
		return err
	}
	validating, err := next.validating(numbered, patch, plan.address)
	if err != nil {
		return err
	}
	_, _, err = seen.exchange(link, reader, validating, next.uid)
	return err
}

// exchange sends one request, checks its answer, and returns the patch and whether the pod was allowed.
func (seen *report) exchange(link *tls.Conn, reader *bufio.Reader, request []byte, uid string) ([]byte, bool, error) {
	started := time.Now()
	if err := link.SetDeadline(started.Add(answerTimeout)); err != nil {
		return nil, false, err
	}
	if _, err := link.Write(request); err != nil {
		return nil, false, err
	}
	body, err := readAnswer(reader)
	if err != nil {
		return nil, false, err
	}
	seen.latencies = append(seen.latencies, time.Since(started))
	seen.Requests++
	return seen.check(body, uid)
}

// readAnswer reads one HTTP response and returns its body. Anything but a plain 200 with a length is an error.
func readAnswer(reader *bufio.Reader) ([]byte, error) {
	status, err := reader.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200 ")) {
		return nil, fmt.Errorf("status: got %q, want 200", bytes.TrimSpace(status))
	}
	length := -1
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return nil, err
			}
		}
	}
	if length < 0 {
		return nil, errors.New("answer: got no Content-Length")
	}
	body := make([]byte, length)
	_, err = io.ReadFull(reader, body)
	return body, err
}

// check holds the answer against the API server's rules (admission/plugin/webhook/request/admissionreview.go).
func (seen *report) check(body []byte, uid string) ([]byte, bool, error) {
	var review answer
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, false, fmt.Errorf("answer: %w: %q", err, body)
	}
	response := review.Response
	if review.APIVersion != "admission.k8s.io/v1" || review.Kind != "AdmissionReview" || response.UID != uid {
		return nil, false, fmt.Errorf("answer: got %q, want an admission.k8s.io/v1 AdmissionReview of uid %s", body, uid)
	}
	if (len(response.Patch) > 0) != (response.PatchType == "JSONPatch") {
		return nil, false, fmt.Errorf("answer: got patchType %q with a patch of %d bytes", response.PatchType, len(response.Patch))
	}
	if response.Allowed {
		seen.Allowed++
	}
	seen.Warnings += len(response.Warnings)
	if len(response.Patch) == 0 {
		return nil, response.Allowed, nil
	}
	var operations []json.RawMessage
	if err := json.Unmarshal(response.Patch, &operations); err != nil {
		return nil, false, fmt.Errorf("patch: %w: %q", err, response.Patch)
	}
	seen.Patched++
	seen.Operations += len(operations)
	return response.Patch, response.Allowed, nil
}

func sum(reports []report) report {
	var total report
	for _, each := range reports {
		total.Requests += each.Requests
		total.Pods += each.Pods
		total.Allowed += each.Allowed
		total.Patched += each.Patched
		total.Operations += each.Operations
		total.Warnings += each.Warnings
		total.Errors += each.Errors
		if total.FirstError == "" {
			total.FirstError = each.FirstError
		}
		total.latencies = append(total.latencies, each.latencies...)
	}
	slices.Sort(total.latencies)
	total.P50 = percentile(total.latencies, 50)
	total.P99 = percentile(total.latencies, 99)
	return total
}

// percentile is the nearest rank, in milliseconds.
func percentile(sorted []time.Duration, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*percent + 99) / 100
	return float64(sorted[rank-1].Microseconds()) / 1000
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}
