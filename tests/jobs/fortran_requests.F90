! SPDX-License-Identifier: BSD-3-Clause
! The nonblocking and persistent collectives from Fortran. One source for the three interfaces: compiled with -DMPIF_H
! (include 'mpif.h'), -DUSE_MPI and -DUSE_MPI_F08; with -DEXTENSIONS where Open MPI's MPIX_ functions are there.
! Fortran's part of traps 23 and 24.
program fortran_requests
#if defined(USE_MPI_F08)
  use mpi_f08
#if defined(EXTENSIONS)
  use mpi_f08_ext
#endif
#elif defined(USE_MPI)
  use mpi
#if defined(EXTENSIONS)
  use mpi_ext
#endif
#endif
  implicit none
#if defined(MPIF_H)
  include 'mpif.h'
#endif
  integer, parameter :: n = 500, outstanding = 12, rounds = 4
  integer :: rank, nranks, ierror, i, k, k2, first, total, failures, which, round
  integer :: calls(9), engine(9)
  logical :: done
  integer, allocatable :: counts(:)
  ! a column for each request
  double precision, asynchronous :: values(n, outstanding), sums(n, outstanding)
  integer, allocatable, asynchronous :: whole(:), part(:), block(:), place(:)
#if defined(USE_MPI_F08)
  type(MPI_Request) :: requests(outstanding), one
  type(MPI_Status) :: statuses(outstanding), one_status
#else
  integer :: requests(outstanding), one
  integer :: statuses(MPI_STATUS_SIZE, outstanding), one_status(MPI_STATUS_SIZE)
#endif

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierror)
  failures = 0
  calls = 0
  total = nranks * (nranks + 1) / 2
  allocate (counts(nranks))
  counts = [(7 * k + 1, k=0, nranks - 1)]
  first = sum(counts(1:rank))
  allocate (whole(sum(counts)), part(counts(rank + 1)), block(5), place(5 * nranks))

  ! an array of requests, in which a send and a receive stand too; completed by Waitall
  do k = 1, outstanding
    values(:, k) = [(dble(rank + 1) * dble(i) + dble(k), i=1, n)]
  end do
  sums = -1
  do k = 1, outstanding - 2
    call MPI_Iallreduce(values(:, k), sums(:, k), n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, requests(k), ierror)
  end do
  call MPI_Irecv(sums(1, outstanding), n, MPI_DOUBLE_PRECISION, mod(rank + nranks - 1, nranks), 5, MPI_COMM_WORLD, &
                 requests(outstanding - 1), ierror)
  call MPI_Isend(values(1, outstanding), n, MPI_DOUBLE_PRECISION, mod(rank + 1, nranks), 5, MPI_COMM_WORLD, &
                 requests(outstanding), ierror)
  call MPI_Waitall(outstanding, requests, statuses, ierror)
  calls(4) = outstanding - 2
  do k = 1, outstanding
    call check(requests(k) == MPI_REQUEST_NULL, 'a request is not null after Waitall', k)
  end do
  do k = 1, outstanding - 2
    do i = 1, n
      call check(sums(i, k) == dble(total) * dble(i) + dble(nranks) * dble(k), 'Iallreduce', i)
    end do
  end do
  k2 = mod(rank + nranks - 1, nranks)
  do i = 1, n
    call check(sums(i, outstanding) == dble(k2 + 1) * dble(i) + dble(outstanding), 'the message beside them', i)
  end do

  ! the two reduce-scatters and one in place, by Waitany
  whole = [((rank + 1) * i, i=1, size(whole))]
  place = [((rank + 2) * i, i=1, size(place))]
  part = -1
  block = -1
  call MPI_Ireduce_scatter(whole, part, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), ierror)
  requests(2) = MPI_REQUEST_NULL
  call MPI_Ireduce_scatter_block(MPI_IN_PLACE, place, 5, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, requests(3), ierror)
  call MPI_Iallreduce(MPI_IN_PLACE, values(:, 1), n, MPI_DOUBLE_PRECISION, MPI_MIN, MPI_COMM_WORLD, requests(4), ierror)
  calls(4:6) = calls(4:6) + 1
  do k = 1, 3
    call MPI_Waitany(4, requests, which, one_status, ierror)
    call check(which == 1 .or. which == 3 .or. which == 4, 'Waitany gives index', which)
  end do
  call MPI_Waitany(4, requests, which, one_status, ierror)
  call check(which == MPI_UNDEFINED, 'Waitany of null requests gives index', which)
  do i = 1, size(part)
    call check(part(i) == total * (first + i), 'Ireduce_scatter', i)
  end do
  do i = 1, 5
    call check(place(i) == (nranks + 1) * (5 * rank + i), 'Ireduce_scatter_block in place', i)
  end do
  do i = 1, n
    call check(values(i, 1) == dble(i) + 1d0, 'Iallreduce in place', i)
  end do

  ! by Test
  place = [((rank + 1) * i, i=1, size(place))]
  call MPI_Ireduce_scatter_block(place, block, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, one, ierror)
  calls(6) = calls(6) + 1
  done = .false.
  do while (.not. done)
    call MPI_Test(one, done, one_status, ierror)
  end do
  call check(one == MPI_REQUEST_NULL, 'the request is not null after Test', 1)
  do i = 1, 5
    call check(block(i) == total * (5 * rank + i), 'Ireduce_scatter_block', i)
  end do

#if defined(EXTENSIONS)
  ! persistent: what is reduced is the data at the start
  call MPIX_Allreduce_init(values(:, 1), sums(:, 1), n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &
                           requests(1), ierror)
  call MPIX_Reduce_scatter_init(whole, part, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &
                                requests(2), ierror)
  call MPIX_Reduce_scatter_block_init(place, block, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &
                                      requests(3), ierror)
  calls(7:9) = merge(rounds, 1, nranks > 1) ! the starts of those that the engine does
  do round = 1, rounds
    values(:, 1) = [(dble(rank + round) * dble(i), i=1, n)]
    whole = [((rank + round) * i, i=1, size(whole))]
    place = [((rank + round) * i, i=1, size(place))]
    call MPI_Startall(3, requests, ierror)
    call MPI_Waitall(3, requests, statuses, ierror)
    k2 = nranks * (nranks - 1) / 2 + nranks * round
    do i = 1, n
      call check(sums(i, 1) == dble(k2) * dble(i), 'Allreduce_init', i)
    end do
    do i = 1, size(part)
      call check(part(i) == k2 * (first + i), 'Reduce_scatter_init', i)
    end do
    do i = 1, 5
      call check(block(i) == k2 * (5 * rank + i), 'Reduce_scatter_block_init', i)
    end do
  end do
  do k = 1, 3
    call check(requests(k) /= MPI_REQUEST_NULL, 'a persistent request is null', k)
    call MPI_Request_free(requests(k), ierror)
    call check(requests(k) == MPI_REQUEST_NULL, 'a freed request is not null', k)
  end do
#endif

  if (rank == 0) then
    engine = calls
    if (nranks == 1) engine = 0
    call print_counts('job-calls', calls)
    call print_counts('job-engine', engine)
  end if
  call MPI_Finalize(ierror)
  if (failures > 0) stop 1

contains

  subroutine check(right, what, index)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    integer, intent(in) :: index
    if (.not. right) then
      failures = failures + 1
      if (failures <= 10) write (0, '(a,i0,3a,i0)') 'FAIL rank ', rank, ': ', what, ': wrong at index ', index
    end if
  end subroutine check

  subroutine print_counts(head, count)
    character(len=*), intent(in) :: head
    integer, intent(in) :: count(9)
    write (*, '(a,9(a,i0))') head, ' allreduce=', count(1), ' reduce_scatter=', count(2), &
      ' reduce_scatter_block=', count(3), ' iallreduce=', count(4), ' ireduce_scatter=', count(5), &
      ' ireduce_scatter_block=', count(6), ' allreduce_init=', count(7), ' reduce_scatter_init=', count(8), &
      ' reduce_scatter_block_init=', count(9)
  end subroutine print_counts
end program fortran_requests
