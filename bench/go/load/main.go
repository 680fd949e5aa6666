// Command load sends AdmissionReviews to a webhook on this machine over kept-alive TLS connections, checks every answer,
// and prints what it saw as one JSON object.
//
// Each connection sends one review after another and waits for each answer, as the API server does. Wherever a review holds
// the marker, a number is put that no other review of the run has: no two are alike, however often the file is gone
// through. It speaks HTTP/1.1, which the API server insists on for webhooks behind a Service. The requests are built before the clock starts, and the
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
	request []byte
	serials []int // offsets of the markers
	uid     string
}

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
	serial := flag.Int("serial", 0, "the first review's `number`, put where "+marker+" stands")
	connections := flag.Int("connections", 25, "kept-alive connections; 25 is what the API server keeps to one webhook")
	requests := flag.Int("requests", 0, "stop after so many requests; 0 goes by -seconds alone")
	seconds := flag.Float64("seconds", 5, "stop after so long")
	flag.Parse()

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
	if err := json.NewEncoder(os.Stdout).Encode(run(links, exchanges, *serial, limit, duration)); err != nil {
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
				UID string `json:"uid"`
			} `json:"request"`
		}
		if err := json.Unmarshal(lines.Bytes(), &review); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, len(exchanges)+1, err)
		}
		built := request(lines.Bytes(), address, path)
		exchanges = append(exchanges, exchange{built, offsets(built), review.Request.UID})
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

// run loads the server until the limit or the time is reached and sums up.
func run(links []*tls.Conn, exchanges []exchange, serial, limit int, duration time.Duration) report {
	var next atomic.Int64
	reports := make([]report, len(links))
	cpuBefore := cpuSeconds()
	started := time.Now()
	deadline := started.Add(duration)
	var group sync.WaitGroup
	for place, link := range links {
		group.Go(func() {
			defer link.Close()
			seen := &reports[place]
			reader := bufio.NewReaderSize(link, 64<<10)
			var buffer []byte
			for time.Now().Before(deadline) {
				turn := int(next.Add(1)) - 1
				if turn >= limit {
					return
				}
				next := exchanges[turn%len(exchanges)]
				buffer = next.numbered(buffer, serial+turn)
				if err := seen.exchange(link, reader, buffer, next.uid); err != nil {
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

// exchange sends one request and checks its answer.
func (seen *report) exchange(link *tls.Conn, reader *bufio.Reader, request []byte, uid string) error {
	started := time.Now()
	if err := link.SetDeadline(started.Add(answerTimeout)); err != nil {
		return err
	}
	if _, err := link.Write(request); err != nil {
		return err
	}
	body, err := readAnswer(reader)
	if err != nil {
		return err
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
func (seen *report) check(body []byte, uid string) error {
	var review answer
	if err := json.Unmarshal(body, &review); err != nil {
		return fmt.Errorf("answer: %w: %q", err, body)
	}
	response := review.Response
	if review.APIVersion != "admission.k8s.io/v1" || review.Kind != "AdmissionReview" || response.UID != uid {
		return fmt.Errorf("answer: got %q, want an admission.k8s.io/v1 AdmissionReview of uid %s", body, uid)
	}
	if (len(response.Patch) > 0) != (response.PatchType == "JSONPatch") {
		return fmt.Errorf("answer: got patchType %q with a patch of %d bytes", response.PatchType, len(response.Patch))
	}
	if response.Allowed {
		seen.Allowed++
	}
	seen.Warnings += len(response.Warnings)
	if len(response.Patch) == 0 {
		return nil
	}
	var operations []json.RawMessage
	if err := json.Unmarshal(response.Patch, &operations); err != nil {
		return fmt.Errorf("patch: %w: %q", err, response.Patch)
	}
	seen.Patched++
	seen.Operations += len(operations)
	return nil
}

func sum(reports []report) report {
	var total report
	for _, each := range reports {
		total.Requests += each.Requests
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
